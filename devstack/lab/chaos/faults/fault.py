# SPDX-License-Identifier: Apache-2.0
"""Base classes of the kinds of faults."""

import abc
import contextlib
import random
import resource
from collections.abc import Sequence
from typing import ClassVar

from devstack.lab.chaos.deployment import ChaosCluster

STORE, RECORDS, BUS = "store", "records", "bus"


class Fault(abc.ABC):
    """Fault of a cluster; ``HOLD`` is the range of seconds between ``inject`` and ``heal``.

    Faults in flight together have disjoint ``targets``: daemons' names, STORE with a partition, RECORDS, BUS.
    """

    KIND: ClassVar[str]
    HOLD: ClassVar[tuple[float, float]] = (0.0, 0.5)
    NEEDS_LOAD: ClassVar[bool] = False  # whether the fault cannot occur on an idle cluster

    targets: frozenset[str]
    lost_hosts: Sequence[str] = ()  # service hosts whose guests end with the fault

    def __init__(self, cluster: ChaosCluster, chance: random.Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.choose()

    def choose(self) -> None:  # noqa: B027 - some kinds have nothing to draw
        """Draw what the fault breaks, and set ``targets``."""

    @abc.abstractmethod
    def inject(self) -> str:
        """Inject the fault, and return a short description."""

    def heal(self) -> bool:
        """Undo the fault, and return whether it occurred."""
        return True


class DaemonFault(Fault):
    PROGRAM: ClassVar[str]
    name: str

    def choose(self) -> None:
        self.name = self.draw_daemon(self.PROGRAM)
        self.targets = frozenset({self.name})

    def heal(self) -> bool:
        self.cluster.revive()
        return True

    def draw_daemon(self, program: str) -> str:
        return self.chance.choice([name for name, own in self.cluster.programs.items() if own == program])


def limit_files(pid: int, size: int) -> None:
    """Limit the size of a process's files, so that longer writes fail like on a full disk."""
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
