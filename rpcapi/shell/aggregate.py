# SPDX-License-Identifier: Apache-2.0
"""``gantt aggregate``: hosts that belong together, and what is said of them."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from rpcapi.shell.aggregate_write import NAMESPACE, Document, read, write
from rpcapi.shell.columns import Fields, Lines, Text
from rpcapi.shell.command import Command, Lister, ShowOne

COLUMNS = ("id", "name", "hosts", "metadata")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=names.canonical, help="The aggregate's id: what requests name in member_of.")


def _add_hosts(parser: argparse.ArgumentParser, option: str, what: str) -> None:
    parser.add_argument(
        option,
        type=names.canonical,
        action="append",
        default=[],
        metavar="HOST",
        help=f"A service host, node or other provider that {what}; may be repeated.",
    )


class AggregateList(Lister):
    """List all aggregates."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--host", type=names.canonical, help="Only aggregates that name this host.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        states = self.session.pages(self.session.scheduler.list_host_state, "states", NAMESPACE)
        # Every partition has all of them.
        held = {state.name: state.document for state in states if "deleted" not in state.document}
        named = parsed_args.host
        return COLUMNS, [_row(name, told) for name, told in held.items() if named in (None, *told["hosts"])]


class AggregateShow(ShowOne):
    """Show one aggregate."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_id(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        held = read(self.session, parsed_args.id)
        if held is None or "deleted" in held:
            raise _unknown(parsed_args.id)
        return COLUMNS, _row(parsed_args.id, held)


class AggregateSet(Command):
    """Add hosts and metadata to an aggregate, and make it where there is none."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_id(parser)
        parser.add_argument("metadata", type=_pair, nargs="*", metavar="KEY=VALUE", help="Metadata, both texts.")
        _add_hosts(parser, "--host", "joins")
        parser.add_argument("--name", help="The name that people know it by. Default: as it is, or the id.")
        parser.add_argument("--zone", help="Make it this availability zone: metadata availability_zone.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        said = dict(parsed_args.metadata) | ({"availability_zone": parsed_args.zone} if parsed_args.zone else {})
        named = {"name": parsed_args.name} if parsed_args.name else {}

        def changed(held: Document | None) -> Document:
            before = held or {"hosts": []}
            hosts = list(dict.fromkeys([*before["hosts"], *parsed_args.host]))
            return {**before, **named, "hosts": hosts, "metadata": {**before.get("metadata", {}), **said}}

        written = write(self.session, parsed_args.id, changed)
        self.tell(f"{parsed_args.id} has {len(written['hosts'])} hosts")


class AggregateUnset(Command):
    """Take hosts and metadata from an aggregate."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_id(parser)
        parser.add_argument("keys", nargs="*", metavar="KEY", help="Metadata that goes.")
        _add_hosts(parser, "--host", "leaves")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        def changed(held: Document | None) -> Document:
            if held is None:
                raise _unknown(parsed_args.id)
            metadata = {key: value for key, value in held.get("metadata", {}).items() if key not in parsed_args.keys}
            hosts = [host for host in held["hosts"] if host not in parsed_args.host]
            return {**held, "hosts": hosts, "metadata": metadata}

        written = write(self.session, parsed_args.id, changed)
        self.tell(f"{parsed_args.id} has {len(written['hosts'])} hosts")


class AggregateDelete(Command):
    """Delete an aggregate; fine where there is none. Its hosts stay."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_id(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.session.ask(self.session.scheduler.delete_aggregate, parsed_args.id)
        self.tell(f"{parsed_args.id} is deleted")


def _row(name: str, held: Document) -> tuple[Any, ...]:
    return name, Text(held.get("name")), Lines(held["hosts"]), Fields(held.get("metadata", {}))


def _unknown(name: str) -> errors.NotFound:
    return errors.NotFound(what=f"Aggregate {name!r}")
