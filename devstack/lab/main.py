# SPDX-License-Identifier: Apache-2.0
"""The command ``gantt-lab``."""

import importlib.metadata
import logging
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from cliff import app, commandmanager

# By name, not by class: a question's libraries are imported when it is asked.
COMMANDS = {
    "claim": "devstack.lab.claim:Claim",
    "decide": "devstack.lab.decide:Decide",
    "peers": "devstack.lab.peers.question:Peers",
    "race": "devstack.lab.race:Race",
    "replay": "devstack.lab.replay.question:Replay",
    "rpc": "devstack.lab.rpc:Rpc",
    "shadow": "devstack.lab.shadow.question:Shadow",
}


class LabApp(app.App):
    """The application: the questions, and nothing that outlives one."""

    NAME = "gantt-lab"
    LOG = logging.getLogger("gantt.lab")

    def __init__(self, **streams: Any) -> None:
        manager = commandmanager.CommandManager()
        for name, value in COMMANDS.items():
            manager.commands[name] = importlib.metadata.EntryPoint(name, value, "gantt.lab")
        super().__init__(
            "Measure gantt beside its floors, in the same run.", _version(), manager, deferred_help=True, **streams
        )

    def configure_logging(self) -> None:
        """Send our own lines to standard error; what the measured services log only where -v asks for it."""
        console = logging.StreamHandler(self.stderr)
        console.setFormatter(logging.Formatter(self.CONSOLE_MESSAGE_FORMAT))
        root = logging.getLogger()
        root.handlers = [console]
        level = self.options.verbose_level
        root.setLevel({0: logging.CRITICAL, 1: logging.CRITICAL, 2: logging.WARNING}.get(level, logging.DEBUG))
        self.LOG.setLevel(logging.DEBUG if level > 2 else logging.ERROR)

    def interact(self) -> None:
        """Show what there is instead of a prompt: every question is a run of its own."""
        self.run_subcommand(["help"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what libraries deprecate is nothing to who measures
    # A private server must not outlive who measures it: end as after Ctrl-C, by way of every `finally`.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    return LabApp().run(list(sys.argv[1:] if argv is None else argv))


def _version() -> str:
    try:
        return importlib.metadata.version("gantt")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
