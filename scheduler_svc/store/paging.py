# SPDX-License-Identifier: Apache-2.0
"""Paging of lists ordered by name."""

from collections.abc import Iterable


def cut(names: Iterable[str], marker: str | None, limit: int) -> tuple[list[str], str | None]:
    """Return the first ``limit`` of ``names`` after ``marker``, in order, and the marker of the page after them."""
    remaining = sorted(name for name in names if marker is None or name > marker)
    return remaining[:limit], remaining[limit - 1] if len(remaining) > limit else None
