# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor``: flavors of servers."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rpcapi.admin.argument import Argument
from rpcapi.cli import catalog_documents
from rpcapi.cli.command import fields_cell
from rpcapi.spec_builder import openstack_json
from rpcapi.spec_builder.catalog_documents import find_sources
from rpcapi.spec_builder.flavors import Flavor


class _Flavors(catalog_documents.CatalogCommand):
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


class ListFlavors(_Flavors, catalog_documents.ListCatalog):
    """List flavors; this client's configuration overrides the cluster, which overrides built-in flavors."""


class ShowFlavor(_Flavors, catalog_documents.ShowFromCatalog):
    """Show a flavor."""


class CreateFlavor(_Flavors, catalog_documents.CreateInCatalog):
    """Create a flavor in the cluster, for all clients."""

    ARGUMENTS = (
        *catalog_documents.CreateInCatalog.ARGUMENTS,
        Argument("--vcpus", type=int, required=True, metavar="N", help="Virtual CPUs."),
        Argument("--ram", type=int, required=True, metavar="MIB", help="Memory in MiB."),
        Argument("--disk", type=int, default=0, metavar="GIB", help="Local disk in GiB (0)."),
    )

    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        return Flavor(args.name, args.vcpus, args.ram, args.disk, properties)


class DeleteFlavors(_Flavors, catalog_documents.DeleteFromCatalog):
    """Delete flavors of the cluster; existing servers are unchanged."""


class ImportFlavors(_Flavors, catalog_documents.ImportToCatalog):
    """Import the output of `openstack flavor list --long -f json` or `show -f json`: all flavors, or none.

    Flavors of the same name in the cluster are replaced. The disk is the sum of root disk, ephemeral disk and swap.
    """
