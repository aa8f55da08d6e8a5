# SPDX-License-Identifier: Apache-2.0
"""``gantt image``: images that servers can boot from."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rpcapi.admin.argument import Argument
from rpcapi.cli import catalog_documents
from rpcapi.cli.command import fields_cell
from rpcapi.spec_builder import openstack_json
from rpcapi.spec_builder.catalog_documents import find_sources, image_document
from rpcapi.spec_builder.images import Image
from rpcapi.validation import documents


class _Images(catalog_documents.CatalogCommand):
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


class ListImages(_Images, catalog_documents.ListCatalog):
    """List images of the cluster and of this client's configuration, which takes precedence."""


class ShowImage(_Images, catalog_documents.ShowFromCatalog):
    """Show an image."""


class CreateImage(_Images, catalog_documents.CreateInCatalog):
    """Create an image in the cluster: its requirements on hosts, not its data."""

    ARGUMENTS = (
        *catalog_documents.CreateInCatalog.ARGUMENTS,
        Argument("--id", default="", help="Image id. Default: the name."),
        Argument("--disk-format", metavar="FORMAT", help="Disk format, such as qcow2."),
        Argument("--min-ram", type=int, default=0, metavar="MIB", help="Minimum flavor memory in MiB (0)."),
        Argument("--min-disk", type=int, default=0, metavar="GIB", help="Minimum flavor disk in GiB (0)."),
    )

    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        return Image(args.name, args.id, args.disk_format, properties, args.min_ram, args.min_disk)


class DeleteImages(_Images, catalog_documents.DeleteFromCatalog):
    """Delete images of the cluster; existing servers are unchanged."""


class ImportImages(_Images, catalog_documents.ImportToCatalog):
    """Import the output of `openstack image list --long -f json` or `show -f json`: all images, or none.

    A list has no properties: import the output of `show` for images with requirements.
    """
