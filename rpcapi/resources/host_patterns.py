# SPDX-License-Identifier: Apache-2.0
"""Patterns of host names with number ranges."""

import re

from rpcapi import errors

MAX_RANGE = 100_000
_RANGE = re.compile(r"\[(\d+)-(\d+)\]")


def expand(pattern: str) -> list[str]:
    """Expand ``a[08-10]`` to a08, a09, a10. Raises BadConfiguration for an empty or too long range."""
    match = _RANGE.search(pattern)
    if match is None:
        return [pattern]
    first, last = match.groups()
    if int(first) > int(last) or int(last) - int(first) >= MAX_RANGE:
        raise errors.BadConfiguration(why=f"the host pattern {pattern!r} has a range that is empty or too long")
    width = len(first) if first.startswith("0") else 0
    head, tail = pattern[: match.start()], expand(pattern[match.end() :])
    return [f"{head}{number:0{width}d}{rest}" for number in range(int(first), int(last) + 1) for rest in tail]
