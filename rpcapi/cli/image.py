# SPDX-License-Identifier: Apache-2.0
"""``gantt image``: images that servers can boot from."""

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

KIND = "image"
COLUMNS = ("name", "id", "disk_format", "properties", "min_ram_mb", "min_disk_gb", "source")


def _load_kind() -> CatalogKind:
    from rpcapi.spec_builder import catalog_documents, openstack_json  # noqa: PLC0415 - lazy, see session
    from rpcapi.validation import documents  # noqa: PLC0415 - lazy, see session

    return CatalogKind(
        KIND,
        lambda value: openstack_json.read_all(value, openstack_json.image),
        catalog_documents.image_document,
        lambda session, image: documents.check_image(image.as_dict()),
    )


def _rows(session: "Session") -> Iterator[Sequence[Any]]:
    from rpcapi.spec_builder.catalog_documents import find_sources  # noqa: PLC0415 - lazy, see session

    sources = find_sources(session.images_by_source)
    for name, image in sorted(session.images.items()):
        texts = image.name, image.id or image.name, image.disk_format, fields_cell(image.properties)
        yield *texts, image.min_ram_mb, image.min_disk_gb, sources[name]


class ListImages(Lister):
    """List the images of the cluster, and those of this client's configuration, which take precedence."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        return COLUMNS, list(_rows(self.session))


class ShowImage(ShowFromCatalog):
    """Show an image."""

    KIND, COLUMNS = KIND, COLUMNS

    def list_rows(self) -> Iterable[Sequence[Any]]:
        return _rows(self.session)


class CreateImage(CreateInCatalog):
    """Create an image of the cluster: what a host must have to boot it, not its bytes."""

    load_kind = staticmethod(_load_kind)

    ARGUMENTS = (
        *CreateInCatalog.ARGUMENTS,
        Argument("--id", default="", help="Id of the image. Default: its name."),
        Argument("--disk-format", metavar="FORMAT", help="Disk format, such as qcow2."),
        Argument("--min-ram", type=int, default=0, metavar="MIB", help="Minimum memory in MiB of a flavor (0)."),
        Argument("--min-disk", type=int, default=0, metavar="GIB", help="Minimum disk in GiB of a flavor (0)."),
    )

    def make_item(self, args: argparse.Namespace, properties: Mapping[str, str]) -> Any:
        from rpcapi.spec_builder.images import Image  # noqa: PLC0415 - lazy, see session

        return Image(args.name, args.id, args.disk_format, properties, args.min_ram, args.min_disk)


class DeleteImages(DeleteFromCatalog):
    """Delete images of the cluster; servers keep what they were booted with."""

    KIND = KIND


class ImportImages(ImportToCatalog):
    """Import images as `openstack image list --long -f json` or `show -f json` prints them: all, or none.

    A list has no properties: import the output of `show` for images with requirements.
    """

    load_kind = staticmethod(_load_kind)
