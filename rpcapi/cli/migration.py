# SPDX-License-Identifier: Apache-2.0
"""``gantt migration``: recorded moves of servers."""

import argparse
from typing import Any, ClassVar

from rpcapi.admin.argument import Argument
from rpcapi.admin.migrations import CopyProgress, read_progress
from rpcapi.cli.command import Command, CommandOutput, Lister, ShowOne, attempts_cell, attributes, timestamp_cell
from rpcapi.cli.server import resolve_uuids
from rpcapi.resources.statuses import MigrationStatus
from rpcapi.validation.instances import canonical_uuid

COLUMNS = ("uuid", "server", "kind", "status", "source_host", "destination_host", "progress", "reason", "updated")


class ListMigrations(Lister):
    """List migrations, oldest first; ended ones are recorded for [conductor_store] retention."""

    ARGUMENTS = (
        Argument("--server", help="Only migrations of this server, by uuid or name."),
        Argument("--host", help="Only migrations from or to this host or node."),
        Argument("--status", choices=[*map(str, MigrationStatus)], help="Only migrations in this status."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        server = None if parsed_args.server is None else resolve_uuids(self.session, [parsed_args.server])[0]
        migrations = [
            migration
            for migration in self.session.list_migrations()
            if server in (None, migration.instance)
            and parsed_args.status in (None, migration.status)
            and (parsed_args.host is None or parsed_args.host in _hosts(migration))
        ]
        progress = read_progress(self.session, migrations)
        return COLUMNS, [
            (
                migration.uuid,
                migration.instance,
                migration.kind,
                migration.status,
                migration.source_host,
                migration.destination_host,
                _percent(progress.get(migration.uuid)),
                migration.reason,
                timestamp_cell(migration.updated_ms),
            )
            for migration in migrations
        ]


def _percent(progress: CopyProgress | None) -> str | None:
    if progress is None or not progress.total_mb:
        return None
    return f"{100 * (progress.total_mb - progress.remaining_mb) // progress.total_mb} %"


def _describe(progress: CopyProgress | None) -> str | None:
    if progress is None:
        return None
    return f"{progress.phase}: {progress.remaining_mb} of {progress.total_mb} MiB left, {progress.copied_mb} MiB copied"


def _hosts(migration: Any) -> set[str]:
    ends = [migration.source_host, migration.destination_host or ""]
    return {*ends, *(end.partition("/")[0] for end in ends)}


class ShowMigration(ShowOne):
    """Show a migration and its ended attempts at destinations."""

    ARGUMENTS = (Argument("migration", type=canonical_uuid, metavar="UUID", help="Uuid of the migration."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        (migration,) = self.session.call(self.session.conductor.get_migrations, [parsed_args.migration]).migrations
        progress = read_progress(self.session, [migration]).get(migration.uuid)
        return self.dict2columns(
            {
                "uuid": migration.uuid,
                "server": migration.instance,
                **attributes(migration, "kind", "status", "source_host", "source_attempt"),
                **attributes(migration, "target", "destination_host", "destination_attempt"),
                "progress": _describe(progress),
                "ended_attempts": attempts_cell(migration.history),
                **attributes(migration, "old_flavor", "new_flavor", "reason", "request_id"),
                "created": timestamp_cell(migration.created_ms),
                "updated": timestamp_cell(migration.updated_ms),
            }
        )


class _ControlMigrations(Command):
    """Base of the commands on live migrations; RESULT completes "to be ..." in the message."""

    RESULT: ClassVar[str]
    METHOD: ClassVar[str]

    ARGUMENTS = (
        Argument(
            "migrations",
            nargs="+",
            type=canonical_uuid,
            metavar="UUID",
            help="Live migrations; all are changed, or none.",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.session.call(getattr(self.session.conductor, self.METHOD), parsed_args.migrations)
        self.show_message(f"{len(parsed_args.migrations)} to be {self.RESULT}")


class AbortMigrations(_ControlMigrations):
    """Abort live migrations; the servers keep running at the source."""

    RESULT, METHOD = "aborted", "abort_migrations"


class ForceCompleteMigrations(_ControlMigrations):
    """Complete live migrations whose servers write memory faster than it is copied; pauses the servers meanwhile."""

    RESULT, METHOD = "completed", "force_complete_migrations"
