# SPDX-License-Identifier: Apache-2.0
"""Paging of lists, and splitting of large calls into batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
Page = tuple[list[_Item], str | None]  # entries; next marker, None on the last page


def cut(names: Iterable[str], marker: str | None, limit: int) -> tuple[list[str], str | None]:
    """Return the first ``limit`` names after ``marker`` in order, and the next marker."""
    remaining = sorted(name for name in names if marker is None or name > marker)
    return remaining[:limit], remaining[limit - 1] if len(remaining) > limit else None


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def entries(
    read_page: Callable[[str | None], tuple[Iterable[_Item], str | None]], marker: str | None = None
) -> Iterator[_Item]:
    """Yield the entries of all pages after ``marker``. ``read_page(marker)`` returns (page, next marker or None)."""
    while True:
        page, marker = read_page(marker)
        yield from page
        if marker is None:
            return
