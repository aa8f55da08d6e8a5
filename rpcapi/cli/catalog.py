# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor`` and ``gantt image``: what servers can boot from."""

import abc
import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, TextIO

from rpcapi import errors
from rpcapi.admin.argument import Argument, parse_pair, repeatable
from rpcapi.admin.state_write import WRITER, get_version, update_document, write_document
from rpcapi.cli.command import Command, CommandFailed, CommandOutput, Lister, SessionCommand, ShowOne, fields_cell
from rpcapi.spec_builder import catalog_documents, openstack_json
from rpcapi.spec_builder.catalog_documents import document_name, find_sources, image_document
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image
from rpcapi.validation import documents

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
        repeatable("--property", type=parse_pair, metavar="K=V", help="Extra spec or property; may be repeated."),
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
            "file", type=argparse.FileType(encoding="utf-8"), metavar="FILE", help="JSON file, or - for standard input."
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


class _Flavors(CatalogCommand):
    KIND = "flavor"
    COLUMNS = ("name", "vcpus", "memory_mb", "disk_gb", "extra_specs", "source")

    read_openstack = staticmethod(openstack_json.flavor)
    document = staticmethod(asdict)

    def rows(self) -> Iterator[Sequence[Any]]:
        sources = find_sources(self.session.flavors_by_source)
        flavors = self.read_valid(self.session.flavors)
        for flavor in sorted(flavors, key=lambda flavor: (flavor.memory_mb, flavor.name)):
            extra_specs = fields_cell(flavor.extra_specs)
            yield flavor.name, flavor.vcpus, flavor.memory_mb, flavor.disk_gb, extra_specs, sources[flavor.name]

    def check(self, item: Any) -> None:
        from rpcapi.spec_builder import builder  # noqa: PLC0415 - brings the versioned objects

        builder.build_spec(item, catalog=self.session.catalog)


class ListFlavors(_Flavors, ListCatalog):
    """List flavors; this client's configuration overrides the cluster, which overrides built-in flavors."""


class ShowFlavor(_Flavors, ShowFromCatalog):
    """Show a flavor."""


class CreateFlavor(_Flavors, CreateInCatalog):
    """Create a flavor in the cluster, for all clients."""

    ARGUMENTS = (
        *CreateInCatalog.ARGUMENTS,
        Argument("--vcpus", type=int, required=True, metavar="N", help="Virtual CPUs."),
        Argument("--ram", type=int, required=True, metavar="MIB", help="Memory in MiB."),
        Argument("--disk", type=int, default=0, metavar="GIB", help="Local disk in GiB (0)."),
    )

    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        return Flavor(args.name, args.vcpus, args.ram, args.disk, properties)


class DeleteFlavors(_Flavors, DeleteFromCatalog):
    """Delete flavors of the cluster; existing servers are unchanged."""


class ImportFlavors(_Flavors, ImportToCatalog):
    """Import the output of `openstack flavor list --long -f json` or `show -f json`: all flavors, or none.

    Flavors of the same name in the cluster are replaced. The disk is the sum of root disk, ephemeral disk and swap.
    """


class _Images(CatalogCommand):
    KIND = "image"
    COLUMNS = ("name", "id", "disk_format", "properties", "min_ram_mb", "min_disk_gb", "source")

    read_openstack = staticmethod(openstack_json.image)
    document = staticmethod(image_document)

    def rows(self) -> Iterator[Sequence[Any]]:
        sources = find_sources(self.session.images_by_source)
        for image in self.read_valid(self.session.images):
            texts = image.name, image.id or image.name, image.disk_format, fields_cell(image.properties)
            yield *texts, image.min_ram_mb, image.min_disk_gb, sources[image.name]

    def check(self, item: Any) -> None:
        documents.IMAGE("image", item.as_dict())


class ListImages(_Images, ListCatalog):
    """List images of the cluster and of this client's configuration, which takes precedence."""


class ShowImage(_Images, ShowFromCatalog):
    """Show an image."""


class CreateImage(_Images, CreateInCatalog):
    """Create an image in the cluster: its requirements on hosts, not its data."""

    ARGUMENTS = (
        *CreateInCatalog.ARGUMENTS,
        Argument("--id", default="", help="Image id. Default: the name."),
        Argument("--disk-format", metavar="FORMAT", help="Disk format, such as qcow2."),
        Argument("--min-ram", type=int, default=0, metavar="MIB", help="Minimum flavor memory in MiB (0)."),
        Argument("--min-disk", type=int, default=0, metavar="GIB", help="Minimum flavor disk in GiB (0)."),
    )

    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        return Image(args.name, args.id, args.disk_format, properties, args.min_ram, args.min_disk)


class DeleteImages(_Images, DeleteFromCatalog):
    """Delete images of the cluster; existing servers are unchanged."""


class ImportImages(_Images, ImportToCatalog):
    """Import the output of `openstack image list --long -f json` or `show -f json`: all images, or none.

    A list has no properties: import the output of `show` for images with requirements.
    """
