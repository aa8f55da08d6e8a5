# SPDX-License-Identifier: Apache-2.0
"""Images from the configuration, one group ``[image:NAME]`` each."""

from collections.abc import Mapping

from oslo_config import cfg

from rpcapi.conf import pairs
from rpcapi.conf.named_groups import NamedItems
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.spec_builder.images import Image
from rpcapi.validation import documents

PREFIX = "image:"
GROUP = f"{PREFIX}NAME"

OPTS = [
    cfg.StrOpt(
        "id",
        default="",
        sample_default="0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4",
        help="Image id, as used in isolated_images. Empty: the image's name. The group name contains the name: "
        "[image:debian-12] defines 'debian-12'.",
    ),
    cfg.StrOpt("disk_format", default="", sample_default="qcow2", help="Disk format of the image; empty: unknown."),
    pairs.option(
        "properties",
        default=[],
        sample_default=["hw_architecture=x86_64", "trait:HW_CPU_X86_AVX2=required"],
        help="Glance's image properties as key=value, separated by commas; quote a pair whose value contains a comma. "
        "docs/requests.md describes which of them a host must satisfy.",
    ),
    cfg.IntOpt("min_ram_mb", default=0, min=0, max=MAX_AMOUNT, help="Minimum flavor memory in MiB."),
    cfg.IntOpt("min_disk_gb", default=0, min=0, max=MAX_AMOUNT, help="Minimum flavor disk in GiB."),
]


def load(conf: cfg.ConfigOpts) -> Mapping[str, Image]:
    """Return images by name; reading an image checks it."""

    reader = pairs.PairReader(conf)

    def make(name: str, values: cfg.ConfigOpts.GroupAttr) -> Image:
        properties = reader.read(f"{PREFIX}{name}", "properties")
        image = Image(name, values.id, values.disk_format or None, properties, values.min_ram_mb, values.min_disk_gb)
        documents.IMAGE("image", image.as_dict())
        return image

    return NamedItems(conf, PREFIX, OPTS, make)
