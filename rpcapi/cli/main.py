# SPDX-License-Identifier: Apache-2.0
"""The operator's command ``gantt``."""

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rpcapi.admin import Session
from rpcapi.cli.application import Application, hush_libraries
from rpcapi.cli.commands import COMMANDS


class GanttApp(Application):
    NAME = "gantt"
    LOG = logging.getLogger("gantt.cli")
    LEVELS: ClassVar[Mapping[int, int]] = {0: logging.ERROR, 1: logging.INFO, 2: logging.INFO}

    def __init__(self, **streams: Any) -> None:
        super().__init__("Operate a gantt cluster.", COMMANDS, **streams)

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: dict[str, Any] | None = None
    ) -> argparse.ArgumentParser:
        parser = super().build_option_parser(description, version, {"prog": self.NAME} | (argparse_kwargs or {}))
        parser.add_argument(
            "--config-file",
            action="append",
            default=[],
            metavar="PATH",
            help="Configuration file; may be repeated. Default: $GANTT_CONFIG_FILE, then gantt.conf in ~/.gantt or "
            "/etc/gantt, then the run folder of your devstack cluster.",
        )
        parser.add_argument("--project", help="Project of the requests. Default: $GANTT_PROJECT, else 'default'.")
        return parser

    def configure_logging(self) -> None:
        super().configure_logging()
        if self.options.log_file:
            to_file = logging.FileHandler(self.options.log_file)
            to_file.setFormatter(logging.Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            logging.getLogger().addHandler(to_file)

    def connect(self) -> Session:
        from rpcapi.admin.session import Session  # noqa: PLC0415 - the help does without it

        project = self.options.project or os.environ.get("GANTT_PROJECT", "default")
        return Session(self.options.config_file, project)


def main(argv: Sequence[str] | None = None) -> int:
    # oslo.messaging imports eventlet, whose unused resolver takes a fifth of a command's time.
    os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
    hush_libraries()
    return GanttApp().run(list(sys.argv[1:] if argv is None else argv))
