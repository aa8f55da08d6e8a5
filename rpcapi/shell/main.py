# SPDX-License-Identifier: Apache-2.0
"""The operator's command ``gantt``."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rpcapi.shell.application import Application, hush_libraries
from rpcapi.shell.session import Session

# By name, not by class: a command's module is imported on use.
COMMANDS = {
    "boot": "rpcapi.shell.boot:BootServer",
    "server boot": "rpcapi.shell.boot:BootServer",
    "server list": "rpcapi.shell.server:ListServers",
    "server show": "rpcapi.shell.server:ShowServer",
    "server delete": "rpcapi.shell.server:DeleteServers",
    "flavor list": "rpcapi.shell.flavor:ListFlavors",
    "image list": "rpcapi.shell.image:ListImages",
    "host list": "rpcapi.shell.host:ListHosts",
    "host show": "rpcapi.shell.host:ShowHost",
    "host enable": "rpcapi.shell.host:EnableHost",
    "host disable": "rpcapi.shell.host:DisableHost",
    "host fence": "rpcapi.shell.host_fence:FenceHost",
    "host remove": "rpcapi.shell.host_remove:RemoveHost",
    "partition list": "rpcapi.shell.partition:ListPartitions",
    "claim list": "rpcapi.shell.claim:ListClaims",
    "claim show": "rpcapi.shell.claim:ShowClaim",
    "claim verify": "rpcapi.shell.claim:VerifyClaims",
    "state list": "rpcapi.shell.state:ListStates",
    "state show": "rpcapi.shell.state:ShowState",
    "state set": "rpcapi.shell.state:SetState",
    "state delete": "rpcapi.shell.state:DeleteState",
    "aggregate list": "rpcapi.shell.aggregate:ListAggregates",
    "aggregate show": "rpcapi.shell.aggregate:ShowAggregate",
    "aggregate set": "rpcapi.shell.aggregate:SetAggregate",
    "aggregate unset": "rpcapi.shell.aggregate:UnsetAggregate",
    "aggregate delete": "rpcapi.shell.aggregate:DeleteAggregate",
    "service list": "rpcapi.shell.service:ListServices",
    "explain": "rpcapi.shell.explain:ExplainDecision",
    "filter list": "rpcapi.shell.filter:ListFilters",
    "weigher list": "rpcapi.shell.filter:ListWeighers",
    "decision export": "rpcapi.shell.decision:ExportDecisions",
}


class GanttApp(Application):
    """The application: global options, the commands, and one session for the run."""

    NAME = "gantt"
    LOG = logging.getLogger("gantt.shell")
    LEVELS: ClassVar[Mapping[int, int]] = {0: logging.ERROR, 1: logging.INFO, 2: logging.INFO}

    def __init__(self, connect: Callable[..., Session] = Session, **streams: Any) -> None:
        super().__init__("Operate a gantt cluster.", COMMANDS, **streams)
        self._connect = connect
        self.session: Session

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
            "/etc/gantt, then the run folder of a cluster that you started with devstack.",
        )
        parser.add_argument(
            "--project",
            default=os.environ.get("GANTT_PROJECT", "default"),
            help="Project of the requests. Default: $GANTT_PROJECT, else 'default'.",
        )
        return parser

    def configure_logging(self) -> None:
        """Log also to the file of --log-file."""
        super().configure_logging()
        if self.options.log_file:
            to_file = logging.FileHandler(self.options.log_file)
            to_file.setFormatter(logging.Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            logging.getLogger().addHandler(to_file)

    def initialize_app(self, argv: list[str]) -> None:
        self.session = self._connect(self.options.config_file, self.options.project)

    def clean_up(self, cmd: Any, result: int, err: BaseException | None) -> None:
        self.session.close()

    def show_message(self, line: str) -> None:
        """Log a line to standard error, besides a command's output."""
        self.LOG.info(line)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    hush_libraries()
    return GanttApp().run(list(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
