# SPDX-License-Identifier: Apache-2.0
"""CPU sets in list notation: ``0-3,8,^2`` is 0, 1, 3 and 8."""

import re
from collections.abc import Iterable

MAX_CPU = 65_535
_PART = re.compile(r"(\^?)([0-9]{1,6})(?:-([0-9]{1,6}))?")


def parse(text: str) -> frozenset[int]:
    """Parse a CPU set, "" to the empty set. Raises ValueError with a message for users."""
    included: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not a CPU number or a range such as 0-3, with '^' to exclude it")
        sign, first, last = match[1], int(match[2]), int(match[3] or match[2])
        if not first <= last <= MAX_CPU:
            raise ValueError(f"{part!r} is an empty range, or exceeds {MAX_CPU}")
        (excluded if sign else included).update(range(first, last + 1))
    return frozenset(included - excluded)


def format_ranges(cpus: Iterable[int]) -> str:
    """Return the shortest list notation: {0, 1, 2, 5} is ``0-2,5``."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
