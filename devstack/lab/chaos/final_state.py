# SPDX-License-Identifier: Apache-2.0
"""Final state of a cluster as plain data: guests, journals, claims, sums and records."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Allocations = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class GuestFile:
    """Guest file of a service host: an instance's attempt on node ``name``."""

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
    """Attempt in a journal; ``stages`` are those still in the file, oldest first."""

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
        return self.stages[-1] != "gone"

    @property
    def was_spawned(self) -> bool:
        return "spawned" in self.stages


@dataclass(frozen=True, slots=True)
class StoredGroup:
    id: str
    policy: str
    max_per_host: int = 1


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """Live claim; in state unverified its host reported an attempt that contradicts the store.

    ``consumer`` is the instance; ``source_of`` is the migration under which a move's source is claimed.
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
    """Claims and sums of a partition: {provider: {class: amount}}; ``ended`` is {consumer: {attempt: end}}."""

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
    """State that a run leaves behind; ``read_at`` is wall-clock time in seconds."""

    guests: Sequence[GuestFile] = ()
    attempts: Sequence[JournalledAttempt] = ()
    partitions: Sequence[StoredPartition] = ()
    instances: Mapping[str, InstanceState] = field(default_factory=dict)
    migrations: Mapping[str, MigrationState] = field(default_factory=dict)
    read_at: float = 0.0

    @property
    def capacity(self) -> Allocations:
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
