# SPDX-License-Identifier: Apache-2.0
"""Measures collections of keys in Redis by MEMORY USAGE, which samples entries and costs the same at any size."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rpcapi.bounds import CollectionSize

SAMPLES = 100  # entries of a key that are measured; the others count as their average
COUNTS = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD", "stream": "XLEN"}


class MeasuredKey(NamedTuple):
    """A key of a collection, and its type; its entries are those of the collection if it ``counts``."""

    name: str
    type: str
    counts: bool


def key_type(description: str) -> str:
    """Return the type with which the description of a key begins."""
    return description.replace(",", " ").replace(":", " ").split()[0]


def measure(
    read: Callable[[Callable[[Any], None]], Sequence[Any]], collections: Mapping[str, Sequence[MeasuredKey]]
) -> dict[str, CollectionSize]:
    """Return the size of each collection; ``read`` returns the answers to the commands put into a pipeline."""

    def fill(pipe: Any) -> None:
        for keys in collections.values():
            for key in keys:
                pipe.execute_command(COUNTS[key.type], key.name)
                pipe.memory_usage(key.name, samples=SAMPLES)

    answers = iter(read(fill))
    sizes = {}
    for name, keys in collections.items():
        entries = size = 0
        for key in keys:
            count, usage = next(answers), next(answers)
            entries += count if key.counts else 0
            size += usage or 0
        sizes[name] = CollectionSize(entries, size)
    return sizes
