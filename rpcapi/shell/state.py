# SPDX-License-Identifier: Apache-2.0
"""``gantt state``: documents of host state, by namespace."""

import argparse
import json
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.model import names
from rpcapi.shell.columns import Document
from rpcapi.shell.command import Command, Lister, ShowOne
from rpcapi.shell.state_write import WRITER, version_of, write

COLUMNS = ("name", "version", "partition", "document")


def _pair(text: str) -> tuple[str, Any]:
    """Return KEY=VALUE as key and value: JSON where it is some, else the text itself."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("namespace", help="For example aggregate, or one that the configuration declares.")
    parser.add_argument("name", help="The document's name: mostly a host, or a node as host/node.")


def _add_writer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--writer",
        default=WRITER,
        help="The namespace's declared writer, in whose place you write. Default: %(default)s.",
    )


class StateList(Lister):
    """List the documents of a namespace."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("namespace", help="compute, service, aggregate, or another.")
        parser.add_argument("--host", help="Only documents of this service host and its nodes.")
        parser.add_argument(
            "--match",
            type=_pair,
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="Only documents whose top-level key has this value; may be repeated.",
        )
        parser.add_argument("--partition", help="Only documents of this partition.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        matching = dict(parsed_args.match) | ({"host": parsed_args.host} if parsed_args.host else {})
        narrowing = {"matching": matching or None, "partition": parsed_args.partition}
        given = {name: value for name, value in narrowing.items() if value is not None}
        listing = self.session.scheduler.list_host_state
        states = self.session.pages(listing, "states", parsed_args.namespace, **given)
        return COLUMNS, [_row(state) for state in states]


class StateShow(ShowOne):
    """Show one document."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_name(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        scheduler = self.session.scheduler
        return COLUMNS, _row(self.session.ask(scheduler.get_host_state, parsed_args.namespace, parsed_args.name))


class StateSet(Command):
    """Set keys of a document, and make it where there is none; other keys stay as they are."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_name(parser)
        parser.add_argument(
            "keys",
            type=_pair,
            nargs="+",
            metavar="KEY=VALUE",
            help="VALUE is JSON, or else a text; null drops the key.",
        )
        _add_writer(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        namespace, name = parsed_args.namespace, names.canonical(parsed_args.name)
        written = write(self.session, namespace, name, dict(parsed_args.keys), writer=parsed_args.writer, make=True)
        self.tell(f"{name} in {namespace} is at version {written.version}")


class StateDelete(Command):
    """Delete a document; fine where there is none."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_name(parser)
        _add_writer(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        namespace, name = parsed_args.namespace, names.canonical(parsed_args.name)
        version = version_of(self.session, namespace, name)
        delete = self.session.scheduler.delete_host_state
        self.session.ask(delete, namespace, name, version=version, writer=parsed_args.writer)
        self.tell(f"{name} in {namespace} is deleted")


def _row(state: Any) -> tuple[Any, ...]:
    return state.name, state.version, state.partition or "", Document(state.document)
