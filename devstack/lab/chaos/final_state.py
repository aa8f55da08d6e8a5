# SPDX-License-Identifier: Apache-2.0
"""The final state of a cluster, as plain data: guests, journals, claims, sums and records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Allocations = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class GuestFile:
    """A guest file of a service host: the attempt of an instance that is on node ``name``, maybe off or paused."""

    host: str
    uuid: str
    attempt: int
    name: str
    is_off: bool = False
    is_paused: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it is neither off nor paused."""
        return not self.is_off and not self.is_paused


@dataclass(frozen=True, slots=True)
class JournalledAttempt:
    """An attempt in a service host's journal; ``stages`` are those that the file still shows, oldest first."""

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
    """The server group of a claim: policy affinity, anti-affinity or a soft one, which binds nobody."""

    id: str
    policy: str
    max_per_host: int = 1


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A live claim as stored; state unverified: its host reported an attempt that contradicts the store.

    ``consumer`` is the instance; ``source_of`` is the migration that holds the claim's resources, if it is a source.
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
    """A partition's stored claims and sums; ``capacity`` and ``used`` are {provider: {class: amount}}.

    ``ended`` is {consumer: {attempt: end}}; ``time_ms`` is the time by which deadlines are judged.
    """

    name: str
    epoch: int
    time_ms: int
    claims: Sequence[StoredClaim] = ()
    capacity: Allocations = field(default_factory=dict)
    used: Allocations = field(default_factory=dict)
    ended: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceState:
    """The conductor's record of an instance."""

    uuid: str
    status: str
    attempt: int
    host: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MigrationState:
    """The conductor's record of a migration of ``instance``."""

    uuid: str
    instance: str
    status: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FinalState:
    """All that a run leaves behind; ``read_at`` is when it was read, in seconds of the wall clock."""

    guests: Sequence[GuestFile] = ()
    attempts: Sequence[JournalledAttempt] = ()
    partitions: Sequence[StoredPartition] = ()
    instances: Mapping[str, InstanceState] = field(default_factory=dict)
    migrations: Mapping[str, MigrationState] = field(default_factory=dict)
    read_at: float = 0.0
