# SPDX-License-Identifier: Apache-2.0
"""Paging of lists ordered by name, and of calls of which each takes a limited number of elements."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from scheduler_svc.store.protocols.providers import ProviderStore
from scheduler_svc.store.providers.checks import MAX_GENERATIONS

_Item = TypeVar("_Item")


def cut(names: Iterable[str], marker: str | None, limit: int) -> tuple[list[str], str | None]:
    """Return the first ``limit`` of ``names`` after ``marker``, in order, and the marker of the page after them."""
    remaining = sorted(name for name in names if marker is None or name > marker)
    return remaining[:limit], remaining[limit - 1] if len(remaining) > limit else None


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """Yield all items in order, ``size`` at a time and at last the rest; nothing if there are none."""
    return (items[start : start + size] for start in range(0, len(items), size))


def entries(
    read_page: Callable[[str | None], tuple[Iterable[_Item], str | None]], marker: str | None = None
) -> Iterator[_Item]:
    """Yield the entries of all pages after ``marker``; pages are of different moments.

    ``read_page`` returns the page after a marker, and the marker of the next page, None on the last.
    """
    while True:
        page, marker = read_page(marker)
        yield from page
        if marker is None:
            return


def read_generations(store: ProviderStore, ids: Sequence[str]) -> dict[str, int]:
    """Return the generation of each of ``ids``, however many; those of different calls are of different moments."""
    generations: dict[str, int] = {}
    for batch in batches(ids, MAX_GENERATIONS):
        generations |= store.read_generations(batch)
    return generations
