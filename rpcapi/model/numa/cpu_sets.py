# SPDX-License-Identifier: Apache-2.0
"""CPU numbers as people write them: ``0-3,8,^2`` is 0, 1, 3 and 8."""

import re
from collections.abc import Iterable

MAX_CPU = 65_535
_PART = re.compile(r"(\^?)([0-9]{1,6})(?:-([0-9]{1,6}))?")


def parse(text: str) -> frozenset[int]:
    """Return the CPUs that a list of numbers, ranges and exclusions (``^``) names.

    Raises ValueError, with a sentence, for what is none; an empty text is no CPU.
    """
    wanted: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is neither a CPU's number, nor a range such as 0-3, nor one of these after '^'")
        sign, first, last = found[1], int(found[2]), int(found[3] or found[2])
        if not first <= last <= MAX_CPU:
            raise ValueError(f"{part!r} is an empty range, or passes {MAX_CPU}")
        (excluded if sign else wanted).update(range(first, last + 1))
    return frozenset(wanted - excluded)


def told(cpus: Iterable[int]) -> str:
    """Return the shortest list of ranges that ``parse`` reads as these CPUs: {0, 1, 2, 5} is ``0-2,5``."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
