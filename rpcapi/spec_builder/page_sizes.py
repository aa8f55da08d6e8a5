# SPDX-License-Identifier: Apache-2.0
"""Page size of a guest's memory."""

import re

from rpcapi import errors
from rpcapi.spec_builder.draft import FlavorImageProperties, parse_integer
from rpcapi.validation.text import abbreviate

ANY, LARGE, SMALL = "any", "large", "small"
SMALL_KB = 4
KEY = "mem_page_size"
_UNITS = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
_SIZE = re.compile(r"(\d{1,9})\s*([KMGT])(?:i?B)?", re.IGNORECASE)


def requested_page_size(flavor_image: FlavorImageProperties) -> str | None:
    """Return the page size as text; raises InvalidSpec if the flavor does not let the image set it."""
    flavor_size, image_size = flavor_image.flavor_value(KEY), flavor_image.image_value(KEY)
    if image_size is None:
        return flavor_size
    if flavor_size not in (ANY, LARGE):
        raise errors.InvalidSpec(
            why=f"image {flavor_image.image.name!r} sets hw_{KEY}={image_size}, which needs hw:{KEY} {ANY} or "
            f"{LARGE}; flavor {flavor_image.flavor.name!r} has {flavor_size or 'none'}"
        )
    return image_size


def parse_size_kb(flavor_image: FlavorImageProperties, text: str, large_kb: int) -> int | None:
    """Return the size of huge pages in KiB, or None for small pages and "any"; raises InvalidSpec."""
    if text in (ANY, SMALL):
        return None
    if text == LARGE:
        return large_kb
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[match[2].upper()] if match else parse_integer(text)
    if not size:
        allowed = f"{ANY}, {LARGE}, {SMALL}, a number of KiB, or a size such as 2MB"
        raise flavor_image.invalid(f"hw:{KEY}", f"must be {allowed}, not {abbreviate(text)}")
    return None if size == SMALL_KB else size
