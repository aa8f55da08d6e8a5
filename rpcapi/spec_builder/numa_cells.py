# SPDX-License-Identifier: Apache-2.0
"""NUMA cells of a guest: their number, CPUs and memory, and the size of their pages."""

import re
from collections.abc import Callable
from typing import TypeVar

from rpcapi import errors
from rpcapi.resources.numa import cpu_sets
from rpcapi.spec_builder.draft import FlavorImageProperties, parse_integer
from rpcapi.validation.text import abbreviate

ANY, LARGE, SMALL = "any", "large", "small"
SMALL_KB = 4
KEY = "mem_page_size"
_UNITS = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
_SIZE = re.compile(r"(\d{1,9})\s*([KMGT])(?:i?B)?", re.IGNORECASE)
MAX_NODES = 128  # as in Nova

T = TypeVar("T")


CellShare = tuple[frozenset[int], int]  # CPUs of one guest cell, and its memory in MiB


def requested_page_size(flavor_image: FlavorImageProperties) -> str | None:
    """Return the page size as text; raises InvalidSpec if the flavor does not let the image set it."""
    flavor_size, image_size = flavor_image.flavor_value(KEY), flavor_image.image_value(KEY)
    if image_size is None:
        return flavor_size
    if flavor_size not in (ANY, LARGE):
        raise errors.InvalidSpec(
            why=f"image {flavor_image.image.name!r} sets hw_{KEY}={image_size}, which needs hw:{KEY} {ANY} or "
            f"{LARGE}; flavor {flavor_image.flavor.name!r} has {flavor_size or 'none'}"
        )
    return image_size


def parse_size_kb(flavor_image: FlavorImageProperties, text: str, large_kb: int) -> int | None:
    """Return the size of huge pages in KiB, or None for small pages and "any"; raises InvalidSpec."""
    if text in (ANY, SMALL):
        return None
    if text == LARGE:
        return large_kb
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[match[2].upper()] if match else parse_integer(text)
    if not size:
        allowed = f"{ANY}, {LARGE}, {SMALL}, a number of KiB, or a size such as 2MB"
        raise flavor_image.invalid(f"hw:{KEY}", f"must be {allowed}, not {abbreviate(text)}")
    return None if size == SMALL_KB else size


def count_cells(flavor_image: FlavorImageProperties) -> int | None:
    text = flavor_image.value("numa_nodes", is_exclusive=True)
    if text is None:
        return None
    nodes = parse_integer(text)
    if nodes is None or not 1 <= nodes <= MAX_NODES:
        raise flavor_image.invalid("hw:numa_nodes", f"must be an integer from 1 to {MAX_NODES}, not {text!r}")
    return nodes


def split_into_cells(flavor_image: FlavorImageProperties, nodes: int) -> list[CellShare]:
    """Return the share of each cell; raises InvalidSpec unless the cells cover exactly CPUs and memory."""
    cpus = _read_per_cell(flavor_image, "numa_cpus", lambda text: _parse_cpus(flavor_image, text))
    memory = _read_per_cell(flavor_image, "numa_mem", lambda text: _parse_memory(flavor_image, text))
    if cpus is None and memory is None:
        return _split_evenly(flavor_image, nodes)
    if cpus is None or memory is None or len(cpus) != nodes or len(memory) != nodes:
        raise flavor_image.invalid(
            "hw:numa_cpus", f"and hw:numa_mem must both be set for each of {nodes} cells, or neither of them"
        )
    _check_split(flavor_image, cpus, memory)
    return list(zip(cpus, memory, strict=True))


def _split_evenly(flavor_image: FlavorImageProperties, nodes: int) -> list[CellShare]:
    flavor = flavor_image.flavor
    if flavor.vcpus % nodes or flavor.memory_mb % nodes:
        why = f"is {nodes}, which does not evenly divide {flavor.vcpus} cpus and {flavor.memory_mb} MiB"
        raise flavor_image.invalid("hw:numa_nodes", f"{why}; use hw:numa_cpus.N and hw:numa_mem.N for an uneven split")
    cpus, share = sorted(flavor_image.cpu_numbers()), flavor.vcpus // nodes
    return [(frozenset(cpus[n * share : (n + 1) * share]), flavor.memory_mb // nodes) for n in range(nodes)]


def _check_split(flavor_image: FlavorImageProperties, cpus: list[frozenset[int]], memory: list[int]) -> None:
    flavor, listed_cpus = flavor_image.flavor, [cpu for cell in cpus for cpu in cell]
    if sorted(listed_cpus) != sorted(flavor_image.cpu_numbers()):
        why = f"must assign each of the flavor's {flavor.vcpus} cpus, numbered from 0, to one cell"
        raise flavor_image.invalid("hw:numa_cpus", why)
    if sum(memory) != flavor.memory_mb:
        raise flavor_image.invalid("hw:numa_mem", f"adds up to {sum(memory)} MiB; the flavor has {flavor.memory_mb}")


def _read_per_cell(flavor_image: FlavorImageProperties, key: str, read: Callable[[str], T]) -> list[T] | None:
    if flavor_image.value(f"{key}.0", is_exclusive=True) is None:
        return None
    value = flavor_image.image_value if flavor_image.flavor_value(f"{key}.0") is None else flavor_image.flavor_value
    values: list[T] = []
    while (text := value(f"{key}.{len(values)}")) is not None and len(values) < MAX_NODES:
        values.append(read(text))
    return values


def _parse_cpus(flavor_image: FlavorImageProperties, text: str) -> frozenset[int]:
    try:
        return cpu_sets.parse(text)
    except ValueError as why:
        raise flavor_image.invalid("hw:numa_cpus", f"is not a set of cpus: {why}") from None


def _parse_memory(flavor_image: FlavorImageProperties, text: str) -> int:
    amount = parse_integer(text)
    if not amount:
        raise flavor_image.invalid("hw:numa_mem", f"must be an integer of at least 1 (MiB), not {text!r}")
    return amount
