# SPDX-License-Identifier: Apache-2.0
"""Resource names: a string, or Nova's (host, node) pair; and patterns of host names with number ranges."""

import re
from collections.abc import Sequence

from rpcapi import errors

ResourceName = str | Sequence[str]

SEPARATOR = "/"
MAX_LENGTH = 255
API_HOST = "@api"  # pseudo-host of providers created by the Placement API
MAX_RANGE = 100_000
_RANGE = re.compile(r"\[(\d+)-(\d+)\]")


def canonical(name: ResourceName) -> str:
    """Return "host", or "host/node" for a pair. Idempotent. Raises InvalidName."""
    if isinstance(name, str):
        parts: Sequence[str] = [name]
    elif isinstance(name, (list, tuple)) and len(name) == 2 and all(isinstance(part, str) for part in name):
        parts = name
        if SEPARATOR in name[0]:
            raise errors.InvalidName(name=name, why=f"the host of a pair may not contain '{SEPARATOR}'")
    else:
        raise errors.InvalidName(name=name, why="it is neither a string nor a (host, node) pair of strings")
    text = SEPARATOR.join(parts)
    if not all(parts) or text.startswith(SEPARATOR) or text.endswith(SEPARATOR):
        raise errors.InvalidName(name=name, why="the host and the node may not be empty")
    if len(text) > MAX_LENGTH:
        raise errors.InvalidName(name=text[:40] + "...", why=f"it is longer than {MAX_LENGTH} characters")
    if not text.isprintable() or "|" in text or " " in text:
        raise errors.InvalidName(name=name, why="it contains a space, a '|' or a character that is not printable")
    return text


def host_of(name: str) -> str:
    return name.partition(SEPARATOR)[0]


def fold(name: str) -> str:
    """Return the name with its service host in lower case, for comparisons of requested hosts."""
    host, separator, node = name.partition(SEPARATOR)
    return f"{host.lower()}{separator}{node}"


def matches(name: str, pattern: str) -> bool:
    """Return whether ``pattern`` is the name or its service host."""
    return pattern in (name, host_of(name))


def api_provider(uuid: str) -> str:
    return f"{API_HOST}{SEPARATOR}{uuid}"


def is_api_provider(name: str) -> bool:
    return name.startswith(API_HOST + SEPARATOR)


def expand_pattern(pattern: str) -> list[str]:
    """Expand ``a[08-10]`` to a08, a09, a10. Raises BadConfiguration for an empty or too long range."""
    match = _RANGE.search(pattern)
    if match is None:
        return [pattern]
    first, last = match.groups()
    if int(first) > int(last) or int(last) - int(first) >= MAX_RANGE:
        raise errors.BadConfiguration(why=f"the host pattern {pattern!r} has a range that is empty or too long")
    width = len(first) if first.startswith("0") else 0
    head, tail = pattern[: match.start()], expand_pattern(pattern[match.end() :])
    return [f"{head}{number:0{width}d}{rest}" for number in range(int(first), int(last) + 1) for rest in tail]
