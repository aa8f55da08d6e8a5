# SPDX-License-Identifier: Apache-2.0
"""Flavors and images from the JSON of ``openstack flavor`` and ``image``, commands ``list --long`` and ``show``."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image

MIB_PER_GIB = 1024


class NotImported(ValueError):
    """Raised with the reason why an object cannot become a flavor or image."""


def rows(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name or number, object) for each object of a parsed document."""
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        name = row.get("name") or row.get("Name") if isinstance(row, dict) else None
        yield name or f"number {number}", row


def flavor(value: Any) -> Flavor:
    """Return a flavor whose disk includes ephemeral disk and swap, as in Nova's requests."""
    row = _fields(value)
    ephemeral = row.get("os-flv-ext-data:ephemeral", row.get("ephemeral"))
    swap_gb = -(-_number("swap", row.get("swap")) // MIB_PER_GIB)
    return Flavor(
        name=_name(row),
        vcpus=_number("vcpus", row.get("vcpus"), required=True),
        memory_mb=_number("ram", row.get("ram"), required=True),
        disk_gb=_number("disk", row.get("disk")) + _number("ephemeral", ephemeral) + swap_gb,
        extra_specs=_pairs(row.get("properties")),
    )


def image(value: Any) -> Image:
    row = _fields(value)
    return Image(
        name=_name(row),
        id=str(row.get("id") or ""),
        disk_format=row.get("disk_format") or None,
        properties=_pairs(row.get("properties")),
        min_ram_mb=_number("min_ram", row.get("min_ram")),
        min_disk_gb=_number("min_disk", row.get("min_disk")),
    )


def _fields(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotImported("it is not an object")
    return {key.lower().replace(" ", "_"): field for key, field in value.items()}


def _name(row: Mapping[str, Any]) -> str:
    name = row.get("name")
    if not isinstance(name, str) or not name:
        raise NotImported("it has no name")
    return name


def _number(field: str, value: Any, *, required: bool = False) -> int:
    if value in ("", None) and not required:
        return 0
    if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)):
        raise NotImported(f"{field} must be a whole number, got {str(value)[:40]!r}")
    return int(value)


def _pairs(value: Any) -> dict[str, str]:
    if not isinstance(value or {}, dict):
        raise NotImported(f"its properties are not an object: {str(value)[:80]!r}")
    return {str(key): str(item) for key, item in (value or {}).items()}
