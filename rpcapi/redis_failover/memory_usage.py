# SPDX-License-Identifier: Apache-2.0
"""Sizes of a store's collections and of the whole server, whose memory may end before a collection is full."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rpcapi.bounds import CollectionSize

SAMPLES = 100  # measured entries per key; the others count as the average
ALL_KEYS = "keys"  # pseudo-collection of all the server's keys
COUNTS = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD", "stream": "XLEN"}


class MeasuredKey(NamedTuple):
    """Key of a collection; ``counts`` says whether its entries are entries of the collection."""

    name: str
    type: str
    counts: bool


def key_type(description: str) -> str:
    return description.replace(",", " ").replace(":", " ").split()[0]


def measure(
    read: Callable[..., Sequence[Any]], collections: Mapping[str, Sequence[MeasuredKey]]
) -> dict[str, CollectionSize]:
    """Return the size of each collection and of ALL_KEYS; ``read`` executes commands."""
    measured = [key for keys in collections.values() for key in keys]
    counts = [(COUNTS[key.type], key.name) for key in measured]
    usages = [("MEMORY USAGE", key.name, "SAMPLES", SAMPLES) for key in measured]
    *numbers, info = read(*counts, *usages, ("INFO",))
    answers = iter(zip(numbers[: len(measured)], numbers[len(measured) :], strict=True))
    sizes = {}
    for name, keys in collections.items():
        entries = size = 0
        for key in keys:
            count, usage = next(answers)
            entries += count if key.counts else 0
            size += usage or 0
        sizes[name] = CollectionSize(entries, size)
    return {**sizes, ALL_KEYS: _all_keys(info)}


def _all_keys(info: Mapping[str, Any]) -> CollectionSize:
    keys = sum(database["keys"] for name, database in info.items() if name.startswith("db") and name[2:].isdigit())
    if info["maxmemory"]:
        return CollectionSize(keys, info["used_memory"], info["maxmemory"])
    return CollectionSize(keys, info["used_memory_rss"], info["total_system_memory"])
