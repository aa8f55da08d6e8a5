# SPDX-License-Identifier: Apache-2.0
"""``gantt server live-migrate``."""

import argparse
import uuid
from collections.abc import Sequence
from typing import ClassVar

from rpcapi.cli import progress, waiting
from rpcapi.cli.argument import Argument
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.cli.server_power import ChangeServers


class LiveMigrateServers(ChangeServers):
    """Copy servers to other hosts while they run; `gantt migration list` shows the progress.

    Members of one affinity group move together: all of them get a destination, or none does.
    """

    STATE, STATUSES, METHOD = "migrated live", ("ACTIVE",), "live_migrate_instances"
    BY_GROUP = True
    COMPLETED: ClassVar[str] = "completed"

    ARGUMENTS = (Argument("--host", metavar="NAME", help="Only to this host, or node as host/node."),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self._migrations: dict[str, str] = {}
        super().take_action(parsed_args)

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        self._migrations = {server: str(uuid.uuid4()) for server in uuids}
        conductor = self.session.conductor
        self.session.call(conductor.live_migrate_instances, list(uuids), list(self._migrations.values()), args.host)

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        with progress.progress_bar(len(uuids), self.STATE, self.app.stderr, args) as bar:
            waiting.wait_for_status(self.session, uuids, waiting.END_STATUSES, args.timeout, bar)
        page = self.session.call(self.session.conductor.get_migrations, list(self._migrations.values()))
        failed = [
            f"{migration.instance}: migration {migration.uuid} is {migration.status}"
            + (f": {migration.reason}" if migration.reason else "")
            for migration in page.migrations
            if migration.status != self.COMPLETED
        ]
        if failed:
            raise CommandFailed(f"{len(failed)} of {len(uuids)} are not {self.STATE}: {'; '.join(failed[:5])}")
