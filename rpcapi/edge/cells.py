# SPDX-License-Identifier: Apache-2.0
"""How a guest's cpus and memory are parted among its NUMA cells: evenly, or as flavor or image say."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rpcapi.edge.asked import Asked, integer
from rpcapi.model.numa import cpu_sets

MAX_NODES = 128  # as in Nova

T = TypeVar("T")


class Part(NamedTuple):
    """What one cell has of the guest."""

    cpus: frozenset[int]
    memory_mb: int


def count(asked: Asked) -> int | None:
    """Return how many cells are asked for, or None; raises InvalidSpec for none, and where both sides say it."""
    text = asked.flavors_own("numa_nodes")
    if text is None:
        return None
    nodes = integer(text)
    if nodes is None or not 1 <= nodes <= MAX_NODES:
        raise asked.refuse("hw:numa_nodes", f"must be an integer from 1 to {MAX_NODES}, not {text!r}")
    return nodes


def parts(asked: Asked, nodes: int) -> list[Part]:
    """Return the cells' parts; raises InvalidSpec where cpus or memory are not parted among exactly ``nodes`` cells."""
    cpus = _each(asked, "numa_cpus", lambda text: _cpus(asked, text))
    memory = _each(asked, "numa_mem", lambda text: _memory(asked, text))
    if cpus is None and memory is None:
        return _even(asked, nodes)
    if cpus is None or memory is None or len(cpus) != nodes or len(memory) != nodes:
        raise asked.refuse("hw:numa_cpus", f"and hw:numa_mem must both be there for each of {nodes} cells, or neither")
    _check_parted(asked, cpus, memory)
    return [Part(*each) for each in zip(cpus, memory, strict=True)]


def _even(asked: Asked, nodes: int) -> list[Part]:
    flavor = asked.flavor
    if flavor.vcpus % nodes or flavor.memory_mb % nodes:
        why = f"is {nodes}, which does not divide {flavor.vcpus} cpus and {flavor.memory_mb} MiB"
        raise asked.refuse("hw:numa_nodes", f"{why}; hw:numa_cpus.N and hw:numa_mem.N can part them otherwise")
    each = flavor.vcpus // nodes
    return [Part(frozenset(range(n * each, (n + 1) * each)), flavor.memory_mb // nodes) for n in range(nodes)]


def _check_parted(asked: Asked, cpus: list[frozenset[int]], memory: list[int]) -> None:
    flavor, named = asked.flavor, [cpu for cell in cpus for cpu in cell]
    beyond = [cpu for cpu in named if cpu >= flavor.vcpus]
    if beyond:
        raise asked.refuse("hw:numa_cpus", f"names cpu {beyond[0]}; the flavor has {flavor.vcpus}, numbered from 0")
    if len(set(named)) < len(named):
        raise asked.refuse("hw:numa_cpus", "names a cpu for two cells")
    if len(named) < flavor.vcpus:
        missing = cpu_sets.told(set(range(flavor.vcpus)) - set(named))
        raise asked.refuse("hw:numa_cpus", f"leaves out cpus {missing} of the flavor")
    if sum(memory) != flavor.memory_mb:
        raise asked.refuse("hw:numa_mem", f"comes to {sum(memory)} MiB; the flavor has {flavor.memory_mb}")


def _each(asked: Asked, key: str, read: Callable[[str], T]) -> list[T] | None:
    """Return the values of KEY.0, KEY.1, ... of the flavor or of the image; None where neither has the first."""
    found = []
    for side, other in ((asked.of_flavor, asked.of_image), (asked.of_image, asked.of_flavor)):
        if side(f"{key}.0") is None:
            continue
        if other(f"{key}.0") is not None:
            raise asked.conflict(f"{key}.0")
        for number in range(MAX_NODES):
            text = side(f"{key}.{number}")
            if text is None:
                break
            found.append(read(text))
    return found or None


def _cpus(asked: Asked, text: str) -> frozenset[int]:
    try:
        return cpu_sets.parse(text)
    except ValueError as why:
        raise asked.refuse("hw:numa_cpus", f"is no set of cpus: {why}") from None


def _memory(asked: Asked, text: str) -> int:
    amount = integer(text)
    if not amount:
        raise asked.refuse("hw:numa_mem", f"must be an integer of MiB from 1 up, not {text!r}")
    return amount
