# SPDX-License-Identifier: Apache-2.0
"""Split of a guest's CPUs and memory into NUMA cells: evenly, or as flavor or image say."""

from collections.abc import Callable
from typing import TypeVar

from rpcapi.resources.numa import cpu_sets
from rpcapi.spec_builder.draft import FlavorImageProperties, parse_integer

MAX_NODES = 128  # as in Nova

T = TypeVar("T")


CellShare = tuple[frozenset[int], int]  # CPUs of one guest cell, and its memory in MiB


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
    share = flavor.vcpus // nodes
    return [(frozenset(range(n * share, (n + 1) * share)), flavor.memory_mb // nodes) for n in range(nodes)]


def _check_split(flavor_image: FlavorImageProperties, cpus: list[frozenset[int]], memory: list[int]) -> None:
    flavor, listed_cpus = flavor_image.flavor, [cpu for cell in cpus for cpu in cell]
    if sorted(listed_cpus) != list(range(flavor.vcpus)):
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
