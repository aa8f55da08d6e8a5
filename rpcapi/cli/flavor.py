# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor``: the available flavors of servers."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rpcapi.cli.argument import Argument
from rpcapi.cli.catalog_documents import (
    CatalogKind,
    CreateInCatalog,
    DeleteFromCatalog,
    ImportToCatalog,
    ShowFromCatalog,
)
from rpcapi.cli.cells import fields_cell
from rpcapi.cli.command import Lister

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

KIND = "flavor"
COLUMNS = ("name", "vcpus", "memory_mb", "disk_gb", "extra_specs", "source")


def _load_kind() -> CatalogKind:
    from rpcapi.spec_builder import builder, catalog_documents, openstack_json  # noqa: PLC0415 - lazy, see session

    return CatalogKind(
        KIND,
        lambda value: openstack_json.read_all(value, openstack_json.flavor),
        catalog_documents.flavor_document,
        lambda session, flavor: builder.build_spec(flavor, catalog=session.catalog),
    )


def _rows(session: "Session") -> Iterator[Sequence[Any]]:
    from rpcapi.spec_builder.catalog_documents import find_sources  # noqa: PLC0415 - lazy, see session

    sources = find_sources(session.flavors_by_source)
    for flavor in sorted(session.flavors.values(), key=lambda flavor: (flavor.memory_mb, flavor.name)):
        extra_specs = fields_cell(flavor.extra_specs)
        yield flavor.name, flavor.vcpus, flavor.memory_mb, flavor.disk_gb, extra_specs, sources[flavor.name]


class ListFlavors(Lister):
    """List the flavors: built-in ones, those of the cluster, and those of this client's configuration.

    Of several of one name, the client's configuration takes precedence, then the cluster.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return COLUMNS, list(_rows(self.session))


class ShowFlavor(ShowFromCatalog):
    """Show a flavor."""

    KIND, COLUMNS = KIND, COLUMNS

    def list_rows(self) -> Iterable[Sequence[Any]]:
        return _rows(self.session)


class CreateFlavor(CreateInCatalog):
    """Create a flavor of the cluster, which every client finds."""

    load_kind = staticmethod(_load_kind)

    ARGUMENTS = (
        *CreateInCatalog.ARGUMENTS,
        Argument("--vcpus", type=int, required=True, metavar="N", help="Virtual CPUs."),
        Argument("--ram", type=int, required=True, metavar="MIB", help="Memory in MiB."),
        Argument("--disk", type=int, default=0, metavar="GIB", help="Local disk in GiB (0)."),
    )

    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        from rpcapi.spec_builder.flavors import Flavor  # noqa: PLC0415 - lazy, see session

        return Flavor(args.name, args.vcpus, args.ram, args.disk, properties)


class DeleteFlavors(DeleteFromCatalog):
    """Delete flavors of the cluster; servers keep what they were booted with."""

    KIND = KIND


class ImportFlavors(ImportToCatalog):
    """Import flavors as `openstack flavor list --long -f json` or `show -f json` prints them: all, or none.

    One of a name that the cluster has is replaced. The disk is the sum of root, ephemeral disk and swap.
    """

    load_kind = staticmethod(_load_kind)
