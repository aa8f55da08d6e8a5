# SPDX-License-Identifier: Apache-2.0
"""Flavors and images that the cluster keeps for all its clients."""

import abc
import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rpcapi import errors
from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command, ShowOne
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.cli.state_write import WRITER, get_version, update_document

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

MAX_FILE_BYTES = 16 << 20
STANDARD_INPUT = "-"


class CatalogKind(NamedTuple):
    """What differs between flavors and images; functions, because their modules are imported on use.

    ``check`` raises a GanttError for an item that no server can be booted with.
    """

    name: str
    read_openstack: Callable[[Any], Iterator[Any]]
    document: Callable[[Any], dict[str, Any]]
    check: Callable[["Session", Any], object]


def store(session: "Session", kind: CatalogKind, item: Any, *, replaces: bool) -> None:
    """Store an item that was checked; raises Conflict if there is one of its name and it ``replaces`` none."""
    from rpcapi import objects  # noqa: PLC0415 - lazy: brings the versioned objects
    from rpcapi.spec_builder.catalog_documents import document_name  # noqa: PLC0415 - lazy

    name, document = document_name(item.name), kind.document(item)
    if replaces:
        update_document(session, kind.name, name, document, make=True)
        return
    state = objects.HostState.of(namespace=kind.name, name=name, version=0, document=document)
    try:
        session.call(session.scheduler.update_host_state, state, writer=WRITER)
    except errors.VersionConflict as error:
        raise errors.Conflict(
            what=f"Creating {kind.name} {item.name!r}", why="there is one of this name; replace it with --replace"
        ) from error


class ShowFromCatalog(ShowOne):
    """Base of the commands that show one row of what ``list_rows`` yields; a row begins with the name."""

    KIND: str
    COLUMNS: Sequence[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help=f"Name of the {self.KIND}.")
        return parser

    @abc.abstractmethod
    def list_rows(self) -> Iterable[Sequence[Any]]:
        """Return the rows of all flavors, or of all images."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        for row in self.list_rows():
            if row[0] == parsed_args.name:
                return self.COLUMNS, row
        raise errors.NotFound(what=f"{self.KIND.capitalize()} {parsed_args.name}")


class CreateInCatalog(Command):
    """Base of the commands that store one item."""

    ARGUMENTS: ClassVar[Sequence[Argument]] = (
        Argument("name", metavar="NAME", help="Name of what is created."),
        Argument(
            "--property", action="append", default=[], metavar="K=V", help="Extra spec or property; may be repeated."
        ),
        Argument("--replace", action="store_true", help="Replace the one of this name, if there is one."),
    )

    @abc.abstractmethod
    def load_kind(self) -> CatalogKind:
        """Return the kind of the item."""

    @abc.abstractmethod
    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        """Return the item of the options."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        kind = self.load_kind()
        item = self.make_item(parsed_args, _pairs("--property", parsed_args.property))
        kind.check(self.session, item)
        store(self.session, kind, item, replaces=parsed_args.replace)
        self.show_message(f"{kind.name} {item.name} is stored")


class DeleteFromCatalog(Command):
    """Base of the commands that delete documents of ``KIND``."""

    KIND: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("names", nargs="+", metavar="NAME", help=f"Name of the {self.KIND}.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from rpcapi.spec_builder.catalog_documents import document_name  # noqa: PLC0415 - lazy

        stored = {document["name"] for document in self.session.list_catalog(self.KIND)}
        missing = [name for name in parsed_args.names if name not in stored]
        if missing:
            raise errors.NotFound(what=f"{self.KIND.capitalize()} {', '.join(missing)} of the cluster")
        for name in map(document_name, parsed_args.names):
            version = get_version(self.session, self.KIND, name)
            self.session.call(self.session.scheduler.delete_host_state, self.KIND, name, version=version, writer=WRITER)
        self.show_message(f"{len(parsed_args.names)} deleted")


class ImportToCatalog(Command):
    """Base of the commands that import what the command ``openstack`` prints."""

    ARGUMENTS = (
        Argument("file", metavar="FILE", help="A JSON file, or - for standard input."),
        Argument("--dry-run", action="store_true", help="Check the file, and write nothing."),
    )

    @abc.abstractmethod
    def load_kind(self) -> CatalogKind:
        """Return the kind of what is imported."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        kind = self.load_kind()
        items, reasons = self._read(kind, _parse(parsed_args.file))
        if reasons:
            lines = "\n  ".join(reasons)
            raise CommandFailed(
                f"Nothing is imported, because of {len(reasons)} of {len(items) + len(reasons)}:\n  {lines}"
            )
        for item in items if not parsed_args.dry_run else ():
            store(self.session, kind, item, replaces=True)
        self.show_message(f"{len(items)} {'can be imported' if parsed_args.dry_run else 'imported'}")

    def _read(self, kind: CatalogKind, value: Any) -> tuple[list[Any], list[str]]:
        """Return the valid items, and why others are none."""
        items: dict[str, Any] = {}
        reasons: list[str] = []
        for item in kind.read_openstack(value):
            if isinstance(item, Exception):
                reasons.append(str(item))
            elif item.name in items:
                reasons.append(f"{item.name}: there are several of this name")
            else:
                try:
                    kind.check(self.session, item)
                except errors.GanttError as error:
                    reasons.append(f"{item.name}: {error.sentence}")
                else:
                    items[item.name] = item
        return list(items.values()), reasons


def _parse(path: str) -> Any:
    """Return the parsed JSON of a file, or of standard input; raises CommandFailed."""
    try:
        if path == STANDARD_INPUT:
            text = sys.stdin.read(MAX_FILE_BYTES + 1)
        else:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise CommandFailed(f"{path} has more than {MAX_FILE_BYTES >> 20} MiB")
        return json.loads(text)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CommandFailed(f"{path} cannot be read as JSON: {error}") from error


def _pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the pairs of a repeated option KEY=VALUE; raises CommandFailed."""
    mapping: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or key in mapping:
            raise CommandFailed(f"{option} {text!r} must be KEY=VALUE, with each key once")
        mapping[key] = value
    return mapping
