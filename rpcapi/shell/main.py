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

# By name, not by class: a command is imported when it is used.
COMMANDS = {
    "boot": "rpcapi.shell.boot:Boot",
    "server boot": "rpcapi.shell.boot:Boot",
    "server list": "rpcapi.shell.server:ServerList",
    "server show": "rpcapi.shell.server:ServerShow",
    "server delete": "rpcapi.shell.server:ServerDelete",
    "flavor list": "rpcapi.shell.flavor:FlavorList",
    "image list": "rpcapi.shell.image:ImageList",
    "host list": "rpcapi.shell.host:HostList",
    "host show": "rpcapi.shell.host:HostShow",
    "host enable": "rpcapi.shell.host:HostEnable",
    "host disable": "rpcapi.shell.host:HostDisable",
    "host fence": "rpcapi.shell.host_fence:HostFence",
    "host remove": "rpcapi.shell.host_remove:HostRemove",
    "partition list": "rpcapi.shell.partition:PartitionList",
    "claim list": "rpcapi.shell.claim:ClaimList",
    "claim show": "rpcapi.shell.claim:ClaimShow",
    "claim verify": "rpcapi.shell.claim:ClaimVerify",
    "state list": "rpcapi.shell.state:StateList",
    "state show": "rpcapi.shell.state:StateShow",
    "state set": "rpcapi.shell.state:StateSet",
    "state delete": "rpcapi.shell.state:StateDelete",
    "aggregate list": "rpcapi.shell.aggregate:AggregateList",
    "aggregate show": "rpcapi.shell.aggregate:AggregateShow",
    "aggregate set": "rpcapi.shell.aggregate:AggregateSet",
    "aggregate unset": "rpcapi.shell.aggregate:AggregateUnset",
    "aggregate delete": "rpcapi.shell.aggregate:AggregateDelete",
    "service list": "rpcapi.shell.service:ServiceList",
    "explain": "rpcapi.shell.explain:Explain",
    "filter list": "rpcapi.shell.filter:FilterList",
    "weigher list": "rpcapi.shell.filter:WeigherList",
    "decision export": "rpcapi.shell.decision:DecisionExport",
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
            help="Configuration to use; may be repeated. Default: $GANTT_CONFIG_FILE, then gantt.conf in ~/.gantt or "
            "/etc/gantt, then the run folder of a cluster that you started with devstack.",
        )
        parser.add_argument(
            "--project",
            default=os.environ.get("GANTT_PROJECT", "default"),
            help="Project on whose behalf to ask. Default: $GANTT_PROJECT, else 'default'.",
        )
        return parser

    def configure_logging(self) -> None:
        """Log to a file too where --log-file asks for it."""
        super().configure_logging()
        if self.options.log_file:
            to_file = logging.FileHandler(self.options.log_file)
            to_file.setFormatter(logging.Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            logging.getLogger().addHandler(to_file)

    def initialize_app(self, argv: list[str]) -> None:
        self.session = self._connect(self.options.config_file, self.options.project)

    def clean_up(self, cmd: Any, result: int, err: BaseException | None) -> None:
        self.session.close()

    def tell(self, line: str) -> None:
        """Write a line for the person beside a command's output."""
        self.LOG.info(line)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    hush_libraries()
    return GanttApp().run(list(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
