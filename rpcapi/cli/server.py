# SPDX-License-Identifier: Apache-2.0
"""``gantt server``: instances recorded by the conductor, and their names."""

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.admin import Session, waiting
from rpcapi.admin.argument import Argument, parse_number
from rpcapi.cli import live_output
from rpcapi.cli.command import CommandFailed, CommandOutput, Lister, ShowOne, attempts_cell, attributes, timestamp_cell
from rpcapi.resources.statuses import InstanceStatus

COLUMNS = ("uuid", "name", "flavor", "status", "host", "reason", "request_id")
WIDE = "request_id"  # omitted from tables unless requested, to limit their width
BOOT_END_STATUSES = (InstanceStatus.ACTIVE, InstanceStatus.ERROR, InstanceStatus.DELETED)


def number_names(name: str | None, count: int) -> list[str]:
    """Return NAME for one new server, NAME-1, NAME-2, ... for several, [] without a name."""
    if name is None:
        return []
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def resolve_uuids(session: Session, servers: Sequence[str]) -> list[str]:
    """Return the uuids of servers (uuids or names; deleted ones last). Raises UnknownInstance, CommandFailed."""
    from rpcapi.validation.instances import canonical_uuid, is_uuid  # noqa: PLC0415 - lazy, see session

    servers = [canonical_uuid(text) for text in servers]
    names = {text for text in servers if not is_uuid(text)}
    uuids_by_name = _list_uuids(session, names) if names else {}
    uuids = [_only_uuid(text, uuids_by_name.get(text, [])) if text in names else text for text in servers]
    return list(dict.fromkeys(uuids))


def _list_uuids(session: Session, names: set[str]) -> dict[str, list[str]]:
    existing: dict[str, list[str]] = {}
    deleted: dict[str, list[str]] = {}
    for instance in session.list_instances(deleted=True):
        matches = deleted if instance.status == InstanceStatus.DELETED else existing
        for text in names & {instance.uuid, instance.name}:
            matches.setdefault(text, []).append(instance.uuid)
    return {**deleted, **existing}


def _only_uuid(name: str, uuids: Sequence[str]) -> str:
    if not uuids:
        raise errors.UnknownInstance(uuid=name)
    if len(uuids) > 1:
        listed = ", ".join(uuids[:5]) + (", ..." if len(uuids) > 5 else "")
        raise CommandFailed(f"{len(uuids)} servers have the name {name!r}; use a uuid: {listed}")
    return uuids[0]


def rows(instances: Iterable[Any], args: argparse.Namespace) -> tuple[Sequence[str], list[Any]]:
    wide = args.formatter != "table" or WIDE in args.columns
    columns = [name for name in COLUMNS if wide or name != WIDE]
    return columns, [_row(instance, columns) for instance in instances]


def _row(instance: Any, columns: Sequence[str]) -> list[Any]:
    return [getattr(instance, name) for name in columns]


class ListServers(Lister):
    """List servers, oldest first."""

    ARGUMENTS = (
        Argument("--host", help="Only servers with this current or last host or node."),
        Argument("--status", type=str.upper, choices=[*map(str, InstanceStatus)], help="Only servers in this status."),
        Argument("--request", metavar="REQUEST_ID", help="Only servers of this request."),
        Argument("--limit", type=parse_number(int, 1), metavar="N", help="At most N servers."),
        Argument("--deleted", action="store_true", help="Include deleted servers that are still recorded."),
        Argument(
            "--watch",
            action="store_true",
            help="Print each server, and again when its status, host or reason changes, until interrupted.",
        ),
        live_output.INTERVAL_OPTION,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        if parsed_args.watch:
            if parsed_args.limit is not None:
                raise CommandFailed("--limit cannot be used with --watch")
            return COLUMNS, (_row(instance, COLUMNS) for instance in self._changes(parsed_args))
        listed = self.session.list_instances(deleted=_includes_deleted(parsed_args))
        instances = (instance for instance in listed if _matches(instance, parsed_args))
        return rows(itertools.islice(instances, parsed_args.limit), parsed_args)

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        if not parsed_args.watch:
            return super().produce_output(parsed_args, column_names, data)
        live_output.print_rows(column_names, data, parsed_args, self.app.stdout)
        return 0

    def _changes(self, args: argparse.Namespace) -> Iterator[Any]:
        """Yield each matching instance, and again after each change, even if it no longer matches."""
        states: dict[str, tuple[Any, ...]] = {}
        while True:
            for instance in self.session.list_instances(deleted=True):
                state = (instance.status, instance.host, instance.reason)
                last = states.get(instance.uuid)
                if state != last and (last is not None or _matches(instance, args)):
                    states[instance.uuid] = state
                    yield instance
            live_output.pause(args.interval)


def _includes_deleted(args: argparse.Namespace) -> bool:
    return bool(args.deleted or args.status == InstanceStatus.DELETED)


def _matches(instance: Any, args: argparse.Namespace) -> bool:
    host = instance.host or ""
    return (
        (_includes_deleted(args) or instance.status != InstanceStatus.DELETED)
        and args.host in (None, host, host.partition("/")[0])
        and args.status in (None, instance.status)
        and args.request in (None, instance.request_id)
    )


class ShowServer(ShowOne):
    """Show a server and its ended build attempts."""

    ARGUMENTS = (Argument("server", help="The server, by uuid or name."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        uuids = resolve_uuids(self.session, [parsed_args.server])
        (instance,) = waiting.fetch_instances(self.session, uuids)
        return self.dict2columns(
            {
                **attributes(
                    instance, "uuid", "name", "flavor", "status", "host", "attempt", "migration", "group_id", "reason"
                ),
                "ended_attempts": attempts_cell(instance.history),
                "request_id": instance.request_id,
                "project": instance.project_id,
                "user": instance.user_id,
                "created": timestamp_cell(instance.created_ms),
                "updated": timestamp_cell(instance.updated_ms),
            }
        )
