# SPDX-License-Identifier: Apache-2.0
"""``gantt aggregate``: groups of hosts with metadata."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.admin.aggregates import NAMESPACE, AggregateDocument, check_hosts, get_aggregate, update_aggregate
from rpcapi.admin.argument import Argument, parse_pair, repeatable
from rpcapi.cli.command import Command, CommandFailed, CommandOutput, Lister, ShowOne, fields_cell, lines_cell
from rpcapi.resources import names
from rpcapi.validation.instances import canonical_uuid

T = TypeVar("T")
COLUMNS = ("id", "name", "hosts", "metadata")


def _identity(text: str) -> str:
    return canonical_uuid(names.canonical(text))


_ID = Argument("id", type=_identity, help="Aggregate id, as in member_of of requests.")


_FORCE = Argument(
    "--force",
    action="store_true",
    help="Also take a zone from hosts with servers, or give a host a second zone. The servers keep running; those that "
    "requested the zone cannot move, or be evacuated or unshelved, until other hosts have it.",
)


def _hosts(effect: str) -> Argument:
    return repeatable(
        "--host",
        type=names.canonical,
        metavar="HOST",
        help=f"Service host, node or other provider that {effect}; may be repeated.",
    )


class ListAggregates(Lister):
    """List all aggregates."""

    ARGUMENTS = (Argument("--host", type=names.canonical, help="Only aggregates with this host."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        states = [state for state in self.session.list_states(NAMESPACE) if "deleted" not in state.document]
        documents = {state.name: state.document for state in states}  # every partition has all aggregates
        host = parsed_args.host
        return COLUMNS, [
            _row(name, document) for name, document in documents.items() if host in (None, *document["hosts"])
        ]


class ShowAggregate(ShowOne):
    """Show one aggregate."""

    ARGUMENTS = (_ID,)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        return COLUMNS, _row(parsed_args.id, _existing(self.session, parsed_args.id))


class _ChangeAggregate(Command):
    def _change(self, args: argparse.Namespace, change: Callable[..., T]) -> T:
        """Call ``change``. With --force, override a ZoneConflict and show its consequences."""
        try:
            return change()
        except errors.ZoneConflict as error:
            if not args.force:
                raise CommandFailed(f"Refused without --force: {error.why}") from error
            self.show_message(f"Forced: {error.why}")
            return change(force=True)


class SetAggregate(_ChangeAggregate):
    """Add hosts and metadata to an aggregate; create it if necessary."""

    ARGUMENTS = (
        _ID,
        Argument(
            "metadata", type=parse_pair, nargs="*", metavar="KEY=VALUE", help="Metadata as text; may be repeated."
        ),
        _hosts("is added"),
        _FORCE,
        Argument("--name", help="Display name. Default: the current name, or the id."),
        Argument(
            "--zone",
            help="Availability zone of the aggregate (metadata availability_zone); `aggregate unset ID "
            "availability_zone` ends it.",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        zone = {} if parsed_args.zone is None else {"availability_zone": parsed_args.zone}
        metadata = dict(parsed_args.metadata) | zone
        display_name = {} if parsed_args.name is None else {"name": parsed_args.name}

        def changed(document: AggregateDocument | None) -> AggregateDocument:
            present = document or {"hosts": []}
            hosts = list(dict.fromkeys([*present["hosts"], *parsed_args.host]))
            return {**present, **display_name, "hosts": hosts, "metadata": {**present.get("metadata", {}), **metadata}}

        check_hosts(self.session, parsed_args.host)
        document = self._change(parsed_args, partial(update_aggregate, self.session, parsed_args.id, changed))
        self.show_message(f"{parsed_args.id} has {len(document['hosts'])} hosts")


class UnsetAggregate(_ChangeAggregate):
    """Remove hosts and metadata from an aggregate."""

    ARGUMENTS = (
        _ID,
        Argument("keys", nargs="*", metavar="KEY", help="Metadata keys to remove."),
        _hosts("is removed"),
        _FORCE,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        def changed(document: AggregateDocument | None) -> AggregateDocument:
            if document is None:
                raise _unknown(parsed_args.id)
            metadata = {
                key: value for key, value in document.get("metadata", {}).items() if key not in parsed_args.keys
            }
            hosts = [host for host in document["hosts"] if host not in parsed_args.host]
            return {**document, "hosts": hosts, "metadata": metadata}

        document = self._change(parsed_args, partial(update_aggregate, self.session, parsed_args.id, changed))
        self.show_message(f"{parsed_args.id} has {len(document['hosts'])} hosts")


class DeleteAggregate(_ChangeAggregate):
    """Delete an aggregate, not its hosts."""

    ARGUMENTS = (_ID, _FORCE)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        _existing(self.session, parsed_args.id)
        delete = partial(self.session.call, self.session.scheduler.delete_aggregate, parsed_args.id)
        self._change(parsed_args, delete)
        self.show_message(f"{parsed_args.id} is deleted")


def _row(name: str, document: AggregateDocument) -> tuple[Any, ...]:
    return (name, document.get("name"), lines_cell(document["hosts"]), fields_cell(document.get("metadata", {})))


def _existing(session: Session, name: str) -> AggregateDocument:
    document = get_aggregate(session, name)
    if document is None or "deleted" in document:
        raise _unknown(name)
    return document


def _unknown(name: str) -> errors.NotFound:
    return errors.NotFound(what=f"Aggregate {name!r}")
