# SPDX-License-Identifier: Apache-2.0
"""Images from the configuration, one group ``[image:NAME]`` each."""

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import pairs
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
        help="The id of the image, which isolated hosts can refer to. Empty: its name. The name is in the group name: "
        "[image:debian-12] defines 'debian-12'.",
    ),
    cfg.StrOpt("disk_format", default="", sample_default="qcow2", help="Disk format of the image; empty: unknown."),
    pairs.option(
        "properties",
        default=[],
        sample_default=["hw_architecture=x86_64", "trait:HW_CPU_X86_AVX2=required"],
        help="Image properties as key=value, separated by commas; quote a pair when its value contains a comma. They "
        " are those of Glance; docs/requests.md describes which of them a host must satisfy.",
    ),
    cfg.IntOpt(
        "min_ram_mb", default=0, min=0, max=MAX_AMOUNT, help="Minimum memory in MiB of a flavor for this image."
    ),
    cfg.IntOpt("min_disk_gb", default=0, min=0, max=MAX_AMOUNT, help="Minimum disk in GiB of a flavor for this image."),
]


def load(conf: cfg.ConfigOpts) -> dict[str, Image]:
    """Return the images of a loaded ``conf`` by name.

    Raises BadConfiguration with the group of an invalid image.
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
