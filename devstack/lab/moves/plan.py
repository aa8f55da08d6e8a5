# SPDX-License-Identifier: Apache-2.0
"""Sizes of lab.sh moves: the hosts and servers, and the simulated copy that is the floor of a live migration."""

from dataclasses import dataclass

from compute_agent.simulator.copy import SimulatedCopy

COPY_RATE, DIRTY_RATE = 1000.0, 100.0  # MiB per second
DOWNTIME_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class MovesPlan:
    """One host is drained; ``hosts`` ones are lost; as many others take the servers of all.

    Each of the first two kinds has ``servers`` servers of ``memory`` MiB, booted by requests of ``per_request`` each;
    ``parallel`` of them are copied at a time.
    """

    servers: int
    hosts: int
    memory: int
    parallel: int
    per_request: int

    @property
    def names(self) -> list[str]:
        """Names of all service hosts, as those of a cluster of that size."""
        count = 1 + 2 * self.hosts
        width = len(str(count - 1))
        return [f"compute{number:0{width}d}" for number in range(count)]

    @property
    def drained_host(self) -> str:
        """The host that is drained."""
        return self.names[0]

    @property
    def other_hosts(self) -> list[str]:
        """The hosts that take the servers of the others."""
        return self.names[1 : 1 + self.hosts]

    @property
    def lost_hosts(self) -> list[str]:
        """The hosts that are lost."""
        return self.names[1 + self.hosts :]

    @property
    def requests(self) -> list[int]:
        """The number of servers of each request for one host."""
        full, rest = divmod(self.servers, self.per_request)
        return [self.per_request] * full + ([rest] if rest else [])

    @property
    def copy_seconds(self) -> float:
        """How long the simulator copies one server: the least time of its live migration."""
        floor = SimulatedCopy(
            memory_mb=self.memory,
            disk_mb=0,  # the storage is shared
            copy_rate=COPY_RATE,
            dirty_rate=DIRTY_RATE,
            downtime_ms=round(1000 * DOWNTIME_SECONDS),
            started_ms=0,
        ).wait_ms(0)
        assert floor is not None  # noqa: S101 - guests write slower than they are copied
        return floor / 1000

    @property
    def drain_seconds(self) -> float:
        """The least time of the drain: one copy after the other, ``parallel`` at a time."""
        return -(-self.servers // self.parallel) * self.copy_seconds
