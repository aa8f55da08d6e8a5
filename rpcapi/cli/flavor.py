# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor``: the available flavors of servers."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rpcapi.cli import catalog_documents
from rpcapi.cli.catalog_documents import CatalogKind, DeleteFromCatalog, ImportToCatalog
from rpcapi.cli.columns import FieldsColumn
from rpcapi.cli.command import Command, Lister, ShowOne

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

KIND = "flavor"
COLUMNS = ("name", "vcpus", "memory_mb", "disk_gb", "extra_specs", "source")


def _kind() -> CatalogKind:
    from rpcapi.spec_builder import builder, catalog_documents, openstack_json  # noqa: PLC0415 - lazy, see session

    return CatalogKind(
        KIND,
        lambda value: openstack_json.read_all(value, openstack_json.flavor),
        catalog_documents.flavor_document,
        lambda session, flavor: builder.build_spec(flavor, catalog=session.catalog),
    )


def _rows(session: "Session") -> Iterator[Sequence[Any]]:
    sources = session.flavor_sources
    for flavor in sorted(session.flavors.values(), key=lambda flavor: (flavor.memory_mb, flavor.name)):
        extra_specs = FieldsColumn(flavor.extra_specs)
        yield flavor.name, flavor.vcpus, flavor.memory_mb, flavor.disk_gb, extra_specs, sources[flavor.name]


class ListFlavors(Lister):
    """List the flavors: built-in ones, those of the cluster, and those of this client's configuration.

    Of several of one name, the client's configuration takes precedence, then the cluster.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return COLUMNS, list(_rows(self.session))


class ShowFlavor(ShowOne):
    """Show a flavor."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="Name of the flavor.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return catalog_documents.show(COLUMNS, _rows(self.session), parsed_args.name, KIND)


class CreateFlavor(Command):
    """Create a flavor of the cluster, which every client finds."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add = parser.add_argument
        add("name", metavar="NAME", help="Name of the flavor.")
        add("--vcpus", type=int, required=True, metavar="N", help="Virtual CPUs.")
        add("--ram", type=int, required=True, metavar="MIB", help="Memory in MiB.")
        add("--disk", type=int, default=0, metavar="GIB", help="Local disk in GiB (0).")
        add("--property", action="append", default=[], metavar="K=V", help="Extra spec as in Nova; may be repeated.")
        add("--replace", action="store_true", help="Replace the flavor of this name, if there is one.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from rpcapi.spec_builder.flavors import Flavor  # noqa: PLC0415 - lazy, see session

        extra_specs = catalog_documents.pairs("--property", parsed_args.property)
        flavor = Flavor(parsed_args.name, parsed_args.vcpus, parsed_args.ram, parsed_args.disk, extra_specs)
        kind = _kind()
        kind.check(self.session, flavor)
        catalog_documents.store(self.session, kind, flavor, replaces=parsed_args.replace)
        self.show_message(f"flavor {flavor.name} is stored")


class DeleteFlavors(DeleteFromCatalog):
    """Delete flavors of the cluster; servers keep what they were booted with."""

    KIND = KIND


class ImportFlavors(ImportToCatalog):
    """Import flavors as `openstack flavor list --long -f json` or `show -f json` prints them: all, or none.

    One of a name that the cluster has is replaced. The disk is the sum of root, ephemeral disk and swap.
    """

    @property
    def kind(self) -> CatalogKind:
        return _kind()
