# SPDX-License-Identifier: Apache-2.0
"""The operator's command ``gantt``."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rpcapi.cli.application import Application, hush_libraries
from rpcapi.cli.session import Session

# By name, not by class: a command's module is imported on use.
COMMANDS = {
    "boot": "rpcapi.cli.boot:BootServer",
    "server boot": "rpcapi.cli.boot:BootServer",
    "server list": "rpcapi.cli.server:ListServers",
    "server show": "rpcapi.cli.server:ShowServer",
    "server delete": "rpcapi.cli.server:DeleteServers",
    "server stop": "rpcapi.cli.server_power:StopServers",
    "server start": "rpcapi.cli.server_power:StartServers",
    "migration list": "rpcapi.cli.migration:ListMigrations",
    "migration show": "rpcapi.cli.migration:ShowMigration",
    "migration abort": "rpcapi.cli.migration_control:AbortMigrations",
    "migration force-complete": "rpcapi.cli.migration_control:ForceCompleteMigrations",
    "server reboot": "rpcapi.cli.server_power:RebootServers",
    "server rebuild": "rpcapi.cli.server_power:RebuildServers",
    "server shelve": "rpcapi.cli.server_power:ShelveServers",
    "server offload": "rpcapi.cli.server_power:OffloadServers",
    "server unshelve": "rpcapi.cli.server_power:UnshelveServers",
    "server evacuate": "rpcapi.cli.server_evacuate:EvacuateServers",
    "server migrate": "rpcapi.cli.server_move:MigrateServers",
    "server live-migrate": "rpcapi.cli.server_live_migrate:LiveMigrateServers",
    "server resize": "rpcapi.cli.server_move:ResizeServers",
    "server confirm": "rpcapi.cli.server_move:ConfirmServers",
    "server revert": "rpcapi.cli.server_move:RevertServers",
    "server adopt": "rpcapi.cli.server_adopt:AdoptServers",
    "flavor create": "rpcapi.cli.flavor:CreateFlavor",
    "flavor delete": "rpcapi.cli.flavor:DeleteFlavors",
    "flavor import": "rpcapi.cli.flavor:ImportFlavors",
    "flavor show": "rpcapi.cli.flavor:ShowFlavor",
    "image create": "rpcapi.cli.image:CreateImage",
    "image delete": "rpcapi.cli.image:DeleteImages",
    "image import": "rpcapi.cli.image:ImportImages",
    "image show": "rpcapi.cli.image:ShowImage",
    "flavor list": "rpcapi.cli.flavor:ListFlavors",
    "image list": "rpcapi.cli.image:ListImages",
    "host list": "rpcapi.cli.host:ListHosts",
    "host show": "rpcapi.cli.host:ShowHost",
    "host enable": "rpcapi.cli.host_enable:EnableHost",
    "host disable": "rpcapi.cli.host_enable:DisableHost",
    "host fence": "rpcapi.cli.host_fence:FenceHost",
    "host evacuate": "rpcapi.cli.host_evacuate:EvacuateHost",
    "host drain": "rpcapi.cli.host_drain:DrainHost",
    "host enroll": "rpcapi.cli.host_enroll:EnrollHost",
    "host revoke": "rpcapi.cli.host_enroll:RevokeHost",
    "host remove": "rpcapi.cli.host_remove:RemoveHost",
    "client enroll": "rpcapi.cli.client_enroll:EnrollClient",
    "client revoke": "rpcapi.cli.client_enroll:RevokeClient",
    "quota show": "rpcapi.cli.quota:ShowQuota",
    "partition acknowledge": "rpcapi.cli.partition:AcknowledgeEpoch",
    "partition list": "rpcapi.cli.partition:ListPartitions",
    "group list": "rpcapi.cli.group:ListGroups",
    "group show": "rpcapi.cli.group:ShowGroup",
    "claim list": "rpcapi.cli.claim:ListClaims",
    "claim show": "rpcapi.cli.claim:ShowClaim",
    "claim verify": "rpcapi.cli.claim:VerifyClaims",
    "audit": "rpcapi.cli.audit:AuditCluster",
    "state list": "rpcapi.cli.state:ListStates",
    "state show": "rpcapi.cli.state:ShowState",
    "state set": "rpcapi.cli.state:SetState",
    "state delete": "rpcapi.cli.state:DeleteState",
    "aggregate list": "rpcapi.cli.aggregate:ListAggregates",
    "aggregate show": "rpcapi.cli.aggregate:ShowAggregate",
    "aggregate set": "rpcapi.cli.aggregate:SetAggregate",
    "aggregate unset": "rpcapi.cli.aggregate:UnsetAggregate",
    "aggregate delete": "rpcapi.cli.aggregate:DeleteAggregate",
    "service list": "rpcapi.cli.service:ListServices",
    "complete": "rpcapi.cli.complete:PrintCompletion",
    "events": "rpcapi.cli.events:FollowEvents",
    "explain": "rpcapi.cli.explain:ExplainDecision",
    "filter list": "rpcapi.cli.filter:ListFilters",
    "weigher list": "rpcapi.cli.filter:ListWeighers",
    "decision compare": "rpcapi.cli.decision_comparison:CompareDecisions",
    "decision export": "rpcapi.cli.decision:ExportDecisions",
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
        project = self.options.project or os.environ.get("GANTT_PROJECT", "default")
        self.session = self._connect(self.options.config_file, project)

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
