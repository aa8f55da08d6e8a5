# SPDX-License-Identifier: Apache-2.0
"""Base application of ``gantt`` and ``devstack/lab.sh``: sub-commands and logging."""

import importlib.metadata
import logging
import sys
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

from cliff import app, commandmanager

from rpcapi import version


class Application(app.App):
    """Application with sub-commands; ``commands`` maps names to ``module:Class``, imported on use."""

    LOG: logging.Logger
    LEVELS: ClassVar[Mapping[int, int]]  # {cliff's verbose_level: log level}: 0 with -q, 1 by default; DEBUG beyond

    def __init__(self, description: str, commands: Mapping[str, str], **streams: Any) -> None:
        manager = commandmanager.CommandManager()
        super().__init__(description, version.installed_version(), manager, deferred_help=True, **streams)
        self.parser.prog = self.NAME  # instead of the module that was run
        # Added last, to override cliff's own commands.
        for name, value in commands.items():
            manager.commands[name] = importlib.metadata.EntryPoint(name, value, self.NAME)

    def configure_logging(self) -> None:
        console = logging.StreamHandler(self.stderr)
        console.setFormatter(logging.Formatter(self.CONSOLE_MESSAGE_FORMAT))
        root = logging.getLogger()
        root.handlers = [console]
        level = self.options.verbose_level
        root.setLevel({0: logging.CRITICAL, 1: logging.CRITICAL, 2: logging.WARNING}.get(level, logging.DEBUG))
        self.LOG.setLevel(self.LEVELS.get(level, logging.DEBUG))

    def interact(self) -> None:
        self.run_subcommand(["help"])


def hush_libraries() -> None:
    """Suppress warnings, unless Python options enable them: library deprecations do not concern users."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
