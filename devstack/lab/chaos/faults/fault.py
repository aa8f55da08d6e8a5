# SPDX-License-Identifier: Apache-2.0
"""Faults: a kind of fault has a function whose ``yield`` separates the injection from the repair."""

import contextlib
import random
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.lab.chaos.deployment import ChaosCluster

STORE, RECORDS, BUS = "store", "records", "bus"
PAUSE = (0.05, 0.8)

Steps = Iterator[str]  # yields a short description when the fault is injected
Target = tuple[frozenset[str], tuple[Any, ...]]  # names of the broken things, further arguments of the steps
DrawTarget = Callable[[ChaosCluster, random.Random], Target]


@dataclass(frozen=True, slots=True)
class FaultKind:
    """Kind of fault; ``hold`` is the range of seconds between injection and repair.

    ``needs_load`` tells whether the fault cannot occur on an idle cluster, ``loses_claims`` whether a partition's store
    forgets its last writes.
    """

    name: str
    draw: DrawTarget
    steps: Callable[..., Steps]
    hold: tuple[float, float] = (0.0, 0.5)
    needs_load: bool = False
    loses_claims: bool = False


class Fault:
    """Drawn fault of a cluster, with the seconds before it (``pause``) and its duration in seconds (``hold``).

    Faults in flight together have disjoint ``targets``: daemons' names, STORE with a partition, RECORDS, BUS.
    """

    def __init__(self, kind: FaultKind, cluster: ChaosCluster, chance: random.Random) -> None:
        self.kind = kind
        self.cluster = cluster
        self.chance = chance
        self.occurred = True
        self.lost_hosts: Sequence[str] = ()  # service hosts whose guests end with the fault
        self.forgets_since: float | None = None  # CLOCK_MONOTONIC seconds; the conductors' store forgets what follows
        self.targets, arguments = kind.draw(cluster, chance)
        self.pause, self.hold = chance.uniform(*PAUSE), chance.uniform(*kind.hold)
        self._steps = kind.steps(self, *arguments)

    def inject(self) -> str:
        return next(self._steps)

    def heal(self) -> bool:
        """Undo the injected fault, and return whether it occurred."""
        next(self._steps, None)
        return self.occurred


def draw_bus(cluster: ChaosCluster, chance: random.Random) -> Target:
    return frozenset({BUS}), ()


def draw_records(cluster: ChaosCluster, chance: random.Random) -> Target:
    return frozenset({RECORDS}), ()


def draw_records_and_conductors(cluster: ChaosCluster, chance: random.Random) -> Target:
    return frozenset({RECORDS, *cluster.conductors}), ()


def draw_store(cluster: ChaosCluster, chance: random.Random) -> Target:
    partition, group = chance.choice(list(cluster.stores.items()))
    return frozenset({f"{STORE} {partition}"}), (partition, group)


def draw_daemon(*programs: str) -> DrawTarget:
    def draw(cluster: ChaosCluster, chance: random.Random) -> Target:
        name = chance.choice([name for name, program in cluster.programs.items() if program in programs])
        return frozenset({name}), (name,)

    return draw


def limit_files(pid: int | None, size: int) -> None:
    """Limit the size of a running process's files, so that longer writes fail like on a full disk."""
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
