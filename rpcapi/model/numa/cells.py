# SPDX-License-Identifier: Apache-2.0
"""The NUMA cells of a host and what of them is in use, as the agent reports it and whoever decides reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from os_resource_classes import PCPU

from rpcapi.model.numa import cpu_sets, pinning
from rpcapi.model.numa.pinning import ThreadPolicy

TRAIT = "HW_NUMA_ROOT"  # of a provider that is a cell
THREADS_TRAIT = "HW_CPU_HYPERTHREADING"  # of a cell, and a node, whose cores have several threads
PAGES = "CUSTOM_MEMORY_PAGES_{size_kb}KB"  # the class of huge pages; amounts are in MiB


def page_class(size_kb: int) -> str:
    """Return the resource class of huge pages of that size."""
    return PAGES.format(size_kb=size_kb)


def pages_of(size_kb: int, amount_mb: int) -> int:
    """Return how many pages so much memory takes."""
    return -(-amount_mb * 1024 // size_kb)


@dataclass(frozen=True, slots=True)
class Cell:
    """One NUMA cell of a host and what of it is in use.

    ``cores`` has the CPUs that are pinned to, core by core; ``shared`` those that other guests float over; of
    ``threads`` CPUs is each core. ``pages`` maps the size of huge pages in kB to how many there are, ``used_pages`` to
    how many guests have.
    """

    id: int
    path: str  # the provider's name below its node's
    socket: int = 0
    cores: tuple[tuple[int, ...], ...] = ()
    shared: frozenset[int] = frozenset()
    threads: int = 1
    pinned: frozenset[int] = frozenset()
    pages: Mapping[int, int] = field(default_factory=dict)
    used_pages: Mapping[int, int] = field(default_factory=dict)

    @property
    def free(self) -> list[tuple[int, ...]]:
        """Return the CPUs that nobody is pinned to, core by core."""
        cores = (tuple(cpu for cpu in core if cpu not in self.pinned) for core in self.cores)
        return [core for core in cores if core]

    def with_use(self, used: Mapping[str, int], piece: int = 0, policy: ThreadPolicy = ThreadPolicy.PREFER) -> "Cell":
        """Return it as it may be when so much of its provider's classes is in use, where nobody has told which CPUs.

        What is pinned beyond its state is taken as guests of ``piece`` CPUs (0: one guest) and this policy would be
        given it; what is pinned no more, so that most cores become whole. So it never says no of itself where the
        right CPUs may be free.
        """
        pages = {size: pages_of(size, used.get(page_class(size), 0)) for size in self.pages}
        more = used.get(PCPU, 0) - len(self.pinned)
        pinned = self._pinned_with(more, piece or more, policy) if more > 0 else self._pinned_without(-more)
        return replace(self, pinned=pinned, used_pages=pages)

    def _pinned_with(self, more: int, piece: int, policy: ThreadPolicy) -> frozenset[int]:
        now = self
        while more > 0:
            count = min(piece, more)
            got = pinning.choose(now.free, now.threads, count, policy)
            if isinstance(got, str):
                got = pinning.choose(now.free, now.threads, count)
            if isinstance(got, str):  # more than there are: the claims will say no
                break
            now = replace(now, pinned=now.pinned | set(got))
            more -= count
        return now.pinned

    def _pinned_without(self, less: int) -> frozenset[int]:
        used = sorted(([cpu for cpu in core if cpu in self.pinned] for core in self.cores), key=len)
        return self.pinned.difference([cpu for core in used for cpu in core][:less])

    def as_dict(self) -> dict[str, Any]:
        """Return the form that reports carry in a node's ``numa``."""
        return {
            "id": self.id,
            "path": self.path,
            "socket": self.socket,
            "cores": [list(core) for core in self.cores],
            "shared": cpu_sets.told(self.shared),
            "threads": self.threads,
            "pinned": cpu_sets.told(self.pinned),
            "pages": {str(size): [total, self.used_pages.get(size, 0)] for size, total in self.pages.items()},
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Cell":
        """Read what ``as_dict`` returns; raises KeyError, TypeError and ValueError for what is none."""
        return cls(
            int(told["id"]),
            str(told["path"]),
            int(told["socket"]),
            tuple(tuple(int(cpu) for cpu in core) for core in told["cores"]),
            cpu_sets.parse(told["shared"]),
            int(told["threads"]),
            cpu_sets.parse(told["pinned"]),
            {int(size): int(total) for size, (total, _) in told["pages"].items()},
            {int(size): int(used) for size, (_, used) in told["pages"].items()},
        )
