# SPDX-License-Identifier: Apache-2.0
"""What the commands ``gantt`` and ``gantt-lab`` have in common: commands by name, and quiet logs."""

import importlib.metadata
import logging
import sys
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

from cliff import app, commandmanager

from rpcapi import version


class Application(app.App):
    """A command with sub-commands, each of which is a run of its own.

    ``commands`` maps their names to ``module:Class``: a module is imported when its command is used.
    """

    LOG: logging.Logger
    LEVELS: ClassVar[Mapping[int, int]]  # what LOG shows by how often -v was given; beyond them, all

    def __init__(self, description: str, commands: Mapping[str, str], **streams: Any) -> None:
        manager = commandmanager.CommandManager()
        for name, value in commands.items():
            manager.commands[name] = importlib.metadata.EntryPoint(name, value, self.NAME)
        super().__init__(description, version.installed(), manager, deferred_help=True, **streams)

    def configure_logging(self) -> None:
        """Send our own lines to standard error; libraries' and services' only where -v asks for them."""
        console = logging.StreamHandler(self.stderr)
        console.setFormatter(logging.Formatter(self.CONSOLE_MESSAGE_FORMAT))
        root = logging.getLogger()
        root.handlers = [console]
        level = self.options.verbose_level
        root.setLevel({0: logging.CRITICAL, 1: logging.CRITICAL, 2: logging.WARNING}.get(level, logging.DEBUG))
        self.LOG.setLevel(self.LEVELS.get(level, logging.DEBUG))

    def interact(self) -> None:
        """Show what there is instead of a prompt."""
        self.run_subcommand(["help"])


def hush_libraries() -> None:
    """Show no warnings, unless Python was told to: what libraries deprecate is nothing to who uses a command."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
