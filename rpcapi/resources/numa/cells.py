# SPDX-License-Identifier: Apache-2.0
"""The NUMA cells of a host and their use, as the agent reports them and the scheduler reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from os_resource_classes import PCPU

from rpcapi.resources.numa import cpu_sets, pinning
from rpcapi.resources.numa.pinning import ThreadPolicy

CELL_TRAIT = "HW_NUMA_ROOT"  # of a provider that is a NUMA cell
THREADS_TRAIT = "HW_CPU_HYPERTHREADING"  # of a cell or node with several threads per core
PAGES = "CUSTOM_MEMORY_PAGES_"  # prefix of the class of huge pages; amounts are in MiB


def page_class(size_kb: int) -> str:
    """Return the resource class of huge pages of that size."""
    return f"{PAGES}{size_kb}KB"


def count_pages(size_kb: int, amount_mb: int) -> int:
    """Return the number of pages of that size that hold ``amount_mb`` MiB."""
    return -(-amount_mb * 1024 // size_kb)


@dataclass(frozen=True, slots=True)
class HostCell:
    """One NUMA cell of a host and its use.

    ``cores`` has the dedicated CPUs (for pinned guests) by core, ``shared`` the CPUs for floating guests. ``threads``
    is the number of CPUs per core. ``pages`` maps the size of huge pages in kB to their number, ``used_pages`` to the
    number in use.
    """

    id: int
    path: str  # the name of the cell's provider, relative to its node
    socket: int = 0
    cores: tuple[tuple[int, ...], ...] = ()
    shared: frozenset[int] = frozenset()
    threads: int = 1
    pinned: frozenset[int] = frozenset()
    pages: Mapping[int, int] = field(default_factory=dict)
    used_pages: Mapping[int, int] = field(default_factory=dict)

    @property
    def free(self) -> list[tuple[int, ...]]:
        """Return the dedicated CPUs without a pinned guest, by core."""
        cores = (tuple(cpu for cpu in core if cpu not in self.pinned) for core in self.cores)
        return [core for core in cores if core]

    def with_use(
        self, used: Mapping[str, int], guest_cpus: int = 0, policy: ThreadPolicy = ThreadPolicy.PREFER
    ) -> "HostCell":
        """Return an estimate of the cell for the used amounts of its provider, without knowing which CPUs are pinned.

        PCPU above the number of pinned CPUs is pinned as for guests of ``guest_cpus`` CPUs (0: one guest) with
        ``policy``; when there is less, CPUs are unpinned such that most cores become free. The estimate is optimistic:
        it does not rule out a guest that fits when the right CPUs are free.
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
            if isinstance(cpus, str):  # more than exist: the claim will be refused
                break
            now = replace(now, pinned=now.pinned | set(cpus))
            missing -= count
        return now.pinned

    def _pinned_without(self, surplus: int) -> frozenset[int]:
        used = sorted(([cpu for cpu in core if cpu in self.pinned] for core in self.cores), key=len)
        return self.pinned.difference([cpu for core in used for cpu in core][:surplus])

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that reports have in a node's ``numa``."""
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
        """Build from what ``as_dict`` returns; raises KeyError, TypeError or ValueError for anything else."""
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
