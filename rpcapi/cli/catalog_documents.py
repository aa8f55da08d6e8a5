# SPDX-License-Identifier: Apache-2.0
"""Commands for flavors and images stored in the cluster."""

import abc
import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TextIO

from rpcapi import errors
from rpcapi.admin.argument import Argument, parse_pair, repeatable
from rpcapi.admin.state_write import WRITER, get_version, update_document, write_document
from rpcapi.cli.command import Command, CommandFailed, CommandOutput, Lister, SessionCommand, ShowOne
from rpcapi.spec_builder import catalog_documents, openstack_json
from rpcapi.spec_builder.catalog_documents import document_name

MAX_FILE_BYTES = 16 << 20


class CatalogCommand(SessionCommand):
    """Base of flavor and image commands. ``read_openstack`` parses output of ``openstack`` or raises NotImported."""

    KIND: ClassVar[str]
    COLUMNS: ClassVar[Sequence[str]]
    read_openstack: "ClassVar[staticmethod[[Any], Any]]"
    document: "ClassVar[staticmethod[[Any], dict[str, Any]]]"

    @abc.abstractmethod
    def rows(self) -> Iterator[Sequence[Any]]:
        """Yield one row per item, name first."""

    @abc.abstractmethod
    def check(self, item: Any) -> None:
        """Raise a GanttError if no server can boot with the item."""

    def read_valid(self, items: Mapping[str, Any]) -> list[Any]:
        """Return the valid items; show a message for each invalid item of the configuration."""
        valid, invalid = catalog_documents.read_valid(items)
        for error in invalid:
            self.show_message(f"Not listed: {error.sentence}")
        return valid

    def store(self, item: Any, *, replaces: bool) -> None:
        """Store a checked item. Raises Conflict if the name exists, unless ``replaces``."""
        name, document = document_name(item.name), self.document(item)
        if replaces:
            update_document(self.session, self.KIND, name, document, make=True)
            return
        try:
            write_document(self.session, self.KIND, name, 0, document)
        except errors.VersionConflict as error:
            raise errors.Conflict(
                what=f"Creating {self.KIND} {item.name!r}", why="the name is taken; --replace replaces it"
            ) from error


class ListCatalog(CatalogCommand, Lister):
    """Base of the commands that list all items."""

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        return self.COLUMNS, list(self.rows())


class ShowFromCatalog(CatalogCommand, ShowOne):
    """Base of the commands that show one item."""

    ARGUMENTS = (Argument("name", metavar="NAME", help="The name."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        for row in self.rows():
            if row[0] == parsed_args.name:
                return self.COLUMNS, row
        raise errors.NotFound(what=f"{self.KIND.capitalize()} {parsed_args.name}")


class CreateInCatalog(CatalogCommand, Command):
    """Base of the commands that store one item."""

    ARGUMENTS: ClassVar[Sequence[Argument]] = (
        Argument("name", metavar="NAME", help="The new name."),
        repeatable(
            "--property",
            type=parse_pair,
            metavar="K=V",
            help="Extra spec or property; may be repeated.",
        ),
        Argument("--replace", action="store_true", help="Replace an existing one of this name."),
    )

    @abc.abstractmethod
    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        """Build the item from the options."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        properties = dict(parsed_args.property)
        if len(properties) < len(parsed_args.property):
            raise CommandFailed("--property must have each key once")
        item = self.make_item(parsed_args, properties)
        self.check(item)
        self.store(item, replaces=parsed_args.replace)
        self.show_message(f"{self.KIND} {item.name} is stored")


class DeleteFromCatalog(CatalogCommand, Command):
    """Base of the commands that delete items of the cluster."""

    ARGUMENTS = (Argument("names", nargs="+", metavar="NAME", help="Names; all are deleted, or none."),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        stored = {document["name"] for document in self.session.list_catalog(self.KIND)}
        missing = [name for name in parsed_args.names if name not in stored]
        if missing:
            raise errors.NotFound(what=f"{self.KIND.capitalize()} {', '.join(missing)} of the cluster")
        for name in map(document_name, parsed_args.names):
            version = get_version(self.session, self.KIND, name)
            self.session.call(self.session.scheduler.delete_host_state, self.KIND, name, version=version, writer=WRITER)
        self.show_message(f"{len(parsed_args.names)} deleted")


class ImportToCatalog(CatalogCommand, Command):
    """Base of the commands that import JSON output of the command ``openstack``."""

    ARGUMENTS = (
        Argument(
            "file",
            type=argparse.FileType(encoding="utf-8"),
            metavar="FILE",
            help="JSON file, or - for standard input.",
        ),
        Argument("--dry-run", action="store_true", help="Check the file without importing it."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        items, reasons = self._read(_parse(parsed_args.file))
        if reasons:
            lines = "\n  ".join(reasons)
            raise CommandFailed(
                f"Nothing imported: {len(reasons)} of {len(items) + len(reasons)} are invalid:\n  {lines}"
            )
        for item in items if not parsed_args.dry_run else ():
            self.store(item, replaces=True)
        self.show_message(f"{len(items)} {'can be imported' if parsed_args.dry_run else 'imported'}")

    def _read(self, value: Any) -> tuple[list[Any], list[str]]:
        items: dict[str, Any] = {}
        reasons: list[str] = []
        for label, row in openstack_json.rows(value):
            try:
                item = self.read_openstack(row)
                self.check(item)
            except openstack_json.NotImported as error:
                reasons.append(f"{label}: {error}")
            except errors.GanttError as error:
                reasons.append(f"{item.name}: {error.sentence}")
            else:
                if item.name in items:
                    reasons.append(f"{item.name}: duplicate name")
                items[item.name] = item
        return list(items.values()), reasons


def _parse(file: TextIO) -> Any:
    try:
        with file:
            text = file.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise CommandFailed(f"{file.name} has more than {MAX_FILE_BYTES >> 20} MiB")
        return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise CommandFailed(f"{file.name} cannot be read as JSON: {error}") from error
