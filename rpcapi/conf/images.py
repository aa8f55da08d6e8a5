# SPDX-License-Identifier: Apache-2.0
"""Images that servers can boot from: one group ``[image:NAME]`` each."""

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import pairs
from rpcapi.model.checks import documents
from rpcapi.model.images import Image
from rpcapi.model.inventory import MAX_AMOUNT

PREFIX = "image:"
GROUP = f"{PREFIX}NAME"

OPTS = [
    cfg.StrOpt(
        "id",
        default="",
        sample_default="0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4",
        help="The image's id, by which hosts may be isolated for it. Empty: its name, which the group's name gives, so "
        "that [image:debian-12] describes 'debian-12'.",
    ),
    cfg.StrOpt("disk_format", default="", sample_default="qcow2", help="Format of its disk; empty: not told."),
    pairs.option(
        "properties",
        default=[],
        sample_default=["hw_architecture=x86_64", "trait:HW_CPU_X86_AVX2=required"],
        help="Its properties as key=value, separated by commas; one whose value holds a comma stands in quotes. They "
        "are those of Glance: docs/requests.md tells which of them a host must meet.",
    ),
    cfg.IntOpt("min_ram_mb", default=0, min=0, max=MAX_AMOUNT, help="Memory in MiB that a flavor needs to boot it."),
    cfg.IntOpt("min_disk_gb", default=0, min=0, max=MAX_AMOUNT, help="Disk in GiB that a flavor needs to boot it."),
]


def load(conf: cfg.ConfigOpts) -> dict[str, Image]:
    """Return all images by name, from a ``conf`` whose files have been read.

    Raises BadConfiguration, naming the group, for one that cannot be asked for.
    """
    sections = (section for section in conf.list_all_sections() if section.startswith(PREFIX))
    return {image.name: image for image in (_read(conf, section) for section in sections)}


def _read(conf: cfg.ConfigOpts, section: str) -> Image:
    conf.register_opts(OPTS, group=section)
    try:
        values = conf[section]
        image = Image(
            section.removeprefix(PREFIX),
            values.id,
            values.disk_format or None,
            pairs.read(f"[{section}] properties", values.properties),
            values.min_ram_mb,
            values.min_disk_gb,
        )
        documents.check_image(image.as_dict())
    except (cfg.Error, ValueError) as error:
        raise errors.BadConfiguration(why=f"[{section}] {error}") from error
    except errors.InvalidRequest as error:
        raise errors.BadConfiguration(why=f"[{section}] {error.sentence}") from error
    return image
