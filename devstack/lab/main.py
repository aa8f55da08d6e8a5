# SPDX-License-Identifier: Apache-2.0
"""The command ``gantt-lab``."""

import importlib.metadata
import logging
import sys
from collections.abc import Sequence
from typing import Any

from cliff import app, commandmanager

# By name, not by class: a question's libraries are imported when it is asked.
COMMANDS = {
    "decide": "devstack.lab.decide:Decide",
}


class LabApp(app.App):
    """The application: the questions, and nothing that outlives one."""

    NAME = "gantt-lab"

    def __init__(self, **streams: Any) -> None:
        manager = commandmanager.CommandManager()
        for name, value in COMMANDS.items():
            manager.commands[name] = importlib.metadata.EntryPoint(name, value, "gantt.lab")
        super().__init__(
            "Measure gantt beside its floors, in the same run.", _version(), manager, deferred_help=True, **streams
        )

    def configure_logging(self) -> None:
        """Keep what the measured services log out of the answer, except where -v or --debug asks for it."""
        super().configure_logging()
        if self.options.verbose_level < 2:
            logging.getLogger().setLevel(logging.CRITICAL)

    def interact(self) -> None:
        """Show what there is instead of a prompt: every question is a run of its own."""
        self.run_subcommand(["help"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return LabApp().run(list(sys.argv[1:] if argv is None else argv))


def _version() -> str:
    try:
        return importlib.metadata.version("gantt")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
