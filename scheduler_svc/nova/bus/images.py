# SPDX-License-Identifier: Apache-2.0
"""Translation of a Nova request's image; its typed properties become strings."""

from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi.resources.numa import cpu_sets
from rpcapi.spec_builder.images import NO_IMAGE, Image
from scheduler_svc.nova.bus.primitives import NovaFields

PROPERTIES = "ImageMetaProps"
TRAITS = "traits_required"
# Properties with an element per NUMA node, which become KEY.0, KEY.1 and so on.
PER_NODE = ("hw_numa_cpus", "hw_numa_mem")


def translate(image: NovaFields | None) -> Image:
    """Return the image, NO_IMAGE for None. Raises MalformedObject or IncompatibleObject."""
    if image is None:
        return NO_IMAGE
    properties = image.object("properties", PROPERTIES)
    return Image(
        image.text("name"),
        image.text("id"),
        image.text("disk_format") or None,
        {} if properties is None else dict(_properties(properties)),
    )


def _properties(properties: NovaFields) -> Iterator[tuple[str, str]]:
    for trait in properties.texts(TRAITS):
        yield f"trait:{trait}", "required"
    for key, value in properties.data.items():
        if key in PER_NODE:
            yield from _per_node(key, value, properties)
        elif key != TRAITS and value is not None and not isinstance(value, list | Mapping):
            yield key, str(value)


def _per_node(key: str, values: Any, properties: NovaFields) -> Iterator[tuple[str, str]]:
    if not isinstance(values, list):
        raise properties.malformed(key, "must be a list")
    for number, value in enumerate(values):
        yield f"{key}.{number}", cpu_sets.format_ranges(set(value)) if isinstance(value, list) else str(value)
