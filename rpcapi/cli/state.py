# SPDX-License-Identifier: Apache-2.0
"""``gantt state``: documents of host state, by namespace."""

import argparse
import json
from typing import Any

from rpcapi.admin.argument import Argument, parse_pair, repeatable
from rpcapi.admin.state_write import WRITER, get_version, update_document
from rpcapi.cli.command import Command, CommandOutput, Lister, ShowOne, document_cell
from rpcapi.resources import names

COLUMNS = ("name", "version", "partition", "document")


def _pair(text: str) -> tuple[str, Any]:
    """Split KEY=VALUE; VALUE is JSON, otherwise text."""
    key, value = parse_pair(text)
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


_DOCUMENT = (
    Argument("namespace", help="Namespace, such as aggregate, or one declared in the configuration."),
    Argument("name", help="Document name: usually a host, or a node as host/node."),
)
_WRITER = Argument(
    "--writer", default=WRITER, help="Write as this declared writer of the namespace. Default: %(default)s."
)


class ListStates(Lister):
    """List the documents of a namespace."""

    ARGUMENTS = (
        Argument("namespace", help="Namespace: compute, service, aggregate, or another."),
        Argument("--host", help="Only documents of this service host and its nodes."),
        repeatable(
            "--match",
            type=_pair,
            metavar="KEY=VALUE",
            help="Only documents whose top-level key has this value; may be repeated.",
        ),
        Argument("--partition", help="Only documents of this partition."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        matching = dict(parsed_args.match) | ({"host": parsed_args.host} if parsed_args.host else {})
        states = self.session.list_states(
            parsed_args.namespace, matching=matching or None, partition=parsed_args.partition
        )
        return COLUMNS, [_row(state) for state in states]


class ShowState(ShowOne):
    """Show one document."""

    ARGUMENTS = (*_DOCUMENT,)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        return COLUMNS, _row(self.session.get_state(parsed_args.namespace, parsed_args.name))


class SetState(Command):
    """Set keys of a document, created if it is missing; other keys stay."""

    ARGUMENTS = (
        *_DOCUMENT,
        Argument(
            "keys",
            type=_pair,
            nargs="+",
            metavar="KEY=VALUE",
            help="VALUE is JSON, or else text; null removes the key.",
        ),
        _WRITER,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        namespace, name = parsed_args.namespace, names.canonical(parsed_args.name)
        state = update_document(
            self.session, namespace, name, dict(parsed_args.keys), writer=parsed_args.writer, make=True
        )
        self.show_message(f"{name} in {namespace} is at version {state.version}")


class DeleteState(Command):
    """Delete a document if it exists."""

    ARGUMENTS = (*_DOCUMENT, _WRITER)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        namespace, name = parsed_args.namespace, names.canonical(parsed_args.name)
        version = get_version(self.session, namespace, name)
        delete = self.session.scheduler.delete_host_state
        self.session.call(delete, namespace, name, version=version, writer=parsed_args.writer)
        self.show_message(f"{name} in {namespace} is deleted")


def _row(state: Any) -> tuple[Any, ...]:
    return state.name, state.version, state.partition or "", document_cell(state.document)
