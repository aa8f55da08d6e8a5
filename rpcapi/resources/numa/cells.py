# SPDX-License-Identifier: Apache-2.0
"""NUMA cells of a host, as reported by the agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from os_resource_classes import PCPU

from rpcapi.resources.numa import cpu_sets, pinning
from rpcapi.resources.numa.pinning import ThreadPolicy

CELL_TRAIT = "HW_NUMA_ROOT"
THREADS_TRAIT = "HW_CPU_HYPERTHREADING"  # Trait of a cell or node with several threads per core.
PAGES = "CUSTOM_MEMORY_PAGES_"  # prefix of huge pages' resource classes, with amounts in MiB


def page_class(size_kb: int) -> str:
    return f"{PAGES}{size_kb}KB"


def count_pages(size_kb: int, amount_mb: int) -> int:
    return -(-amount_mb * 1024 // size_kb)


@dataclass(frozen=True, slots=True)
class HostCell:
    """NUMA cell of a host and its usage. Huge pages are counted by size in kB."""

    id: int
    path: str  # provider of the cell, relative to the node
    socket: int = 0
    cores: tuple[tuple[int, ...], ...] = ()  # dedicated CPUs (for pinned guests) by core
    shared: frozenset[int] = frozenset()  # CPUs of floating guests
    threads: int = 1  # CPUs per core
    pinned: frozenset[int] = frozenset()
    pages: Mapping[int, int] = field(default_factory=dict)
    used_pages: Mapping[int, int] = field(default_factory=dict)

    @property
    def free(self) -> list[tuple[int, ...]]:
        cores = (tuple(cpu for cpu in core if cpu not in self.pinned) for core in self.cores)
        return [core for core in cores if core]

    def with_use(
        self, used: Mapping[str, int], guest_cpus: int = 0, policy: ThreadPolicy = ThreadPolicy.PREFER
    ) -> "HostCell":
        """Estimate the usage from the provider's used amounts, which do not say which CPUs are pinned.

        If PCPU exceeds the pinned CPUs, pin more, as guests of ``guest_cpus`` CPUs (0: one guest) with ``policy``
        would. Otherwise unpin so that most cores become free. The estimate never rules out a guest that could fit.
        """
        pages = {size: count_pages(size, used.get(page_class(size), 0)) for size in self.pages}
        missing = used.get(PCPU, 0) - len(self.pinned)
        pinned = (
            self._pinned_with(missing, guest_cpus or missing, policy) if missing > 0 else self._pinned_without(-missing)
        )
        return replace(self, pinned=pinned, used_pages=pages)

    def _pinned_with(self, missing: int, guest_cpus: int, policy: ThreadPolicy) -> frozenset[int]:
        now = self
        while missing > 0:
            count = min(guest_cpus, missing)
            cpus = pinning.choose_cpus(now.free, now.threads, count, policy)
            if isinstance(cpus, str):
                cpus = pinning.choose_cpus(now.free, now.threads, count)
            if isinstance(cpus, str):  # more than the cell has, so the claim will be refused
                break
            now = replace(now, pinned=now.pinned | set(cpus))
            missing -= count
        return now.pinned

    def _pinned_without(self, surplus: int) -> frozenset[int]:
        used = sorted(([cpu for cpu in core if cpu in self.pinned] for core in self.cores), key=len)
        return self.pinned.difference([cpu for core in used for cpu in core][:surplus])

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "path": self.path,
            "socket": self.socket,
            "cores": [list(core) for core in self.cores],
            "shared": cpu_sets.format_ranges(self.shared),
            "threads": self.threads,
            "pinned": cpu_sets.format_ranges(self.pinned),
            "pages": {str(size): [total, self.used_pages.get(size, 0)] for size, total in self.pages.items()},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "HostCell":
        return cls(
            int(fields["id"]),
            str(fields["path"]),
            int(fields["socket"]),
            tuple(tuple(int(cpu) for cpu in core) for core in fields["cores"]),
            cpu_sets.parse(fields["shared"]),
            int(fields["threads"]),
            cpu_sets.parse(fields["pinned"]),
            {int(size): int(total) for size, (total, _) in fields["pages"].items()},
            {int(size): int(used) for size, (_, used) in fields["pages"].items()},
        )
