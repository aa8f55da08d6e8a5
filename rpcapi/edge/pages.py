# SPDX-License-Identifier: Apache-2.0
"""The size of the pages that back a guest's memory."""

import re

from rpcapi import errors
from rpcapi.edge.asked import Asked, integer
from rpcapi.model.checks.text import shown

ANY, LARGE, SMALL = "any", "large", "small"
SMALL_KB = 4
KEY = "mem_page_size"
_UNITS = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
_SIZE = re.compile(r"(\d{1,9})\s*([KMGT])(?:i?B)?", re.IGNORECASE)


def asked_for(asked: Asked) -> str | None:
    """Return the size that is asked for, as it was written, or None.

    An image may choose beside a flavor that says "any" or "large", and not otherwise: raises InvalidSpec.
    """
    own, other = asked.of_flavor(KEY), asked.of_image(KEY)
    if other is None:
        return own
    if own not in (ANY, LARGE):
        raise errors.InvalidSpec(
            why=f"image {asked.image.name!r} says hw_{KEY}={other}; it may choose beside hw:{KEY} {ANY} or "
            f"{LARGE}, and that of flavor {asked.flavor.name!r} is {own or 'not there'}"
        )
    return other


def size_kb(asked: Asked, text: str, large_kb: int) -> int | None:
    """Return the size of huge pages in KiB, or None for small ones, which are plain memory.

    ``large_kb`` is what "large" means in this cloud; "any" are small ones. Raises InvalidSpec for what is no size.
    """
    if text in (ANY, SMALL):
        return None
    if text == LARGE:
        return large_kb
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * _UNITS[found[2].upper()] if found else integer(text)
    if not size:
        known = f"{ANY}, {LARGE}, {SMALL}, a number of KiB, or a size such as 2MB"
        raise asked.refuse(f"hw:{KEY}", f"must be {known}, not {shown(text)}")
    return None if size == SMALL_KB else size
