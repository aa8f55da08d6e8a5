# SPDX-License-Identifier: Apache-2.0
"""Resource names: a plain string, or Nova's (host, node) pair."""

from collections.abc import Sequence

from rpcapi import errors

ResourceName = str | Sequence[str]

SEPARATOR = "/"
MAX_LENGTH = 255
API_HOST = "@api"  # stands for the service host in the ids of providers that the Placement API makes


def canonical(name: ResourceName) -> str:
    """Return the canonical string of ``name``, as used in records and on the wire.

    ``"host"`` stays itself, ``("host", "node")`` becomes ``"host/node"``; a canonical string is its own
    canonical form. Raises InvalidName for anything else.
    """
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
    """Return the service host of a canonical name: the part before the first separator."""
    return name.partition(SEPARATOR)[0]


def matches(name: str, pattern: str) -> bool:
    """Return whether ``pattern`` is the canonical ``name`` or its service host."""
    return pattern in (name, host_of(name))


def api_provider(uuid: str) -> str:
    """Return the id of the provider that the Placement API makes for ``uuid``; it stays when the parent changes."""
    return f"{API_HOST}{SEPARATOR}{uuid}"


def is_api_provider(name: str) -> bool:
    """Return whether the Placement API made the provider with this id."""
    return name.startswith(API_HOST + SEPARATOR)
