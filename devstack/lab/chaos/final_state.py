# SPDX-License-Identifier: Apache-2.0
"""The final state of a cluster, as plain data: guests, journals, claims, sums and records."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Allocations = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class GuestFile:
    """A guest file of a service host: an instance's attempt on node ``name``."""

    host: str
    uuid: str
    attempt: int
    name: str
    is_off: bool = False
    is_paused: bool = False

    @property
    def is_running(self) -> bool:
        return not self.is_off and not self.is_paused


@dataclass(frozen=True, slots=True)
class JournalledAttempt:
    """An attempt in a journal; ``stages`` are those that the file still shows, oldest first."""

    host: str
    uuid: str
    attempt: int
    stages: Sequence[str]
    name: str = ""
    allocations: Allocations = field(default_factory=dict)
    outcome: str | None = None
    reason: str = ""

    @property
    def is_live(self) -> bool:
        """Whether the attempt holds resources on its host."""
        return self.stages[-1] != "gone"

    @property
    def was_spawned(self) -> bool:
        """Whether the attempt's guest is known to have run."""
        return "spawned" in self.stages


@dataclass(frozen=True, slots=True)
class StoredGroup:
    id: str
    policy: str
    max_per_host: int = 1


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A live claim; unverified: its host reported an attempt that contradicts the store.

    ``consumer`` is the instance; ``source_of`` is the migration that holds the resources of a source.
    """

    consumer: str
    attempt: int
    state: str
    host: str
    allocations: Allocations
    deadline_ms: int | None = None
    group: StoredGroup | None = None
    source_of: str | None = None


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """Claims and sums ({provider: {class: amount}}) of a partition; ``ended`` is {consumer: {attempt: end}}."""

    name: str
    epoch: int
    time_ms: int
    claims: Sequence[StoredClaim] = ()
    capacity: Allocations = field(default_factory=dict)
    used: Allocations = field(default_factory=dict)
    ended: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceState:
    uuid: str
    status: str
    attempt: int
    host: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MigrationState:
    uuid: str
    instance: str
    status: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FinalState:
    """What a run leaves behind; ``read_at`` is seconds of the wall clock."""

    guests: Sequence[GuestFile] = ()
    attempts: Sequence[JournalledAttempt] = ()
    partitions: Sequence[StoredPartition] = ()
    instances: Mapping[str, InstanceState] = field(default_factory=dict)
    migrations: Mapping[str, MigrationState] = field(default_factory=dict)
    read_at: float = 0.0

    @property
    def capacity(self) -> Allocations:
        """Capacity of all partitions' providers."""
        return {provider: amounts for partition in self.partitions for provider, amounts in partition.capacity.items()}

    def guests_by_instance(self) -> dict[str, list[GuestFile]]:
        guests: dict[str, list[GuestFile]] = defaultdict(list)
        for guest in self.guests:
            guests[guest.uuid].append(guest)
        return guests

    def claims_by_instance(self) -> dict[str, list[StoredClaim]]:
        claims: dict[str, list[StoredClaim]] = defaultdict(list)
        for partition in self.partitions:
            for claim in partition.claims:
                claims[claim.consumer].append(claim)
        return claims
