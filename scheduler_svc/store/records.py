# SPDX-License-Identifier: Apache-2.0
"""Options of a store, and records that its verbs take and return."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.resources.claims import ClaimRole
from scheduler_svc.core.records import Allocations, ClaimGroup, ClaimRef, ClaimResult

MAX_STEP_MS = 15_000  # longest step of partition time; see conf/store.py
MAX_CLOCK_OFFSET_MS = 5_000  # smaller clock offsets are not recorded
COLLECT_MS = 120_000  # time from the start of an epoch during which names of forgotten hosts are collected
SCHEMA = 1  # schema version of documents and log entries; other versions are rejected

Durability = Literal["everysec", "always"]  # appendfsync setting of the Redis server
Liveness = Literal["beats", "group"]  # source of liveness: heartbeats, or a coordination group


class StoreOptions(TypedDict, total=False):
    """Options of a partition's store; each backend ignores options of the other backends.

    Attributes:
        durability: With "always", the restart of a single server begins no new epoch, because no write is lost.
        log_length: Maximum number of log entries.
        decision_bytes: Maximum size of the decision record.
        liveness: Source of liveness.
        namespaces: Declared namespaces of host state.
        replicas: Redis replicas that must have a claim before it is acknowledged.
        max_step_ms: Longest step of the server's clock that advances partition time.
        wait_seconds: Longest wait of a verb for a silent server, retries included.
    """

    durability: Durability
    log_length: int
    decision_bytes: int
    liveness: Liveness
    namespaces: Collection[str]
    replicas: ReplicaAcknowledgement
    max_step_ms: int
    wait_seconds: float | None


DEFAULTS: StoreOptions = {
    "durability": "everysec",
    "log_length": 100_000,
    "decision_bytes": 32 << 20,
    "liveness": "beats",
    "namespaces": (),
    "replicas": ReplicaAcknowledgement(),
    "max_step_ms": MAX_STEP_MS,
    "wait_seconds": None,
}


@dataclass(frozen=True, slots=True)
class RunningClaim:
    """Claim of a guest that runs on the audited host.

    ``role``, ``migration`` and ``source_attempt`` (see MoveEnd) are from the last message about a move that the agent
    received for the guest.
    """

    consumer: str
    attempt: int
    confirmed: bool
    host: str
    allocations: Allocations
    type: str
    project: str
    user: str
    request_id: str
    group: ClaimGroup | None = None
    role: ClaimRole = ClaimRole.ONLY
    migration: str | None = None
    source_attempt: int | None = None

    @property
    def ref(self) -> ClaimRef:
        return ClaimRef(self.consumer, self.attempt)


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """Result of an audit; see rpcapi.objects.AuditAnswer. ``position`` is 0 if the audit's epoch was over."""

    epoch: int
    answers: Sequence[ClaimResult]
    reasserted: int
    released: int
    orphans: int
    again_ms: int
    position: int = 0


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of ``verify``, from one atomic read."""

    epoch: int
    position: int
    claims: Mapping[str, int]
    providers: int
    problems: Sequence[str]
    excess: Sequence[Mapping[str, Any]]
    awaited: Sequence[str]  # hosts that may run forgotten claims and have not audited yet


@dataclass(frozen=True, slots=True)
class HostReport:
    """Report of a service host; see rpcapi.objects.StatsReport.

    Attributes:
        incarnation: Incarnation from the agent's last registration, or 0 before the first.
        nodes: {name: document} of all nodes if ``full``, otherwise of changes since report number ``base``.
        register: Whether the agent registers, which gives it a new incarnation.
        agent: In a registration, id of this start of the agent.
        proof: Verified (epoch, position) that the store once had.
        host_uuid: In a registration, uuid of the agent's state folder, or "".
        served: Whether a store has accepted reports from that state folder before.
        refusal: Reason why the agent takes no new guests, or "".
    """

    incarnation: int
    sequence: int
    nodes: Mapping[str, Mapping[str, Any]]
    base: int = 0
    full: bool = True
    register: bool = False
    agent: str = ""
    proof: tuple[int, int] | None = None
    host_uuid: str = ""
    served: bool = True
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class StatsOutcome:
    """Result of ``update_stats``.

    Attributes:
        need_full: Whether the agent must send a full report.
        audit: Whether the host must audit in ``epoch``.
        incarnation: The agent's incarnation, or 0 if a different agent has registered since.
        superseded: Whether the agent must register again.
    """

    need_full: bool
    epoch: int
    audit: bool
    position: int
    incarnation: int
    superseded: bool = False


def home_key(group_id: str) -> str:
    return f"group:{group_id}"


def departure_key(group_id: str) -> str:
    return f"left:{group_id}"


class GroupHome(NamedTuple):
    """Partition that serves a server group.

    ``generation`` grows, compared as text, whenever a home is chosen, even in a later epoch.
    """

    partition: str
    generation: str


class ReapResult(NamedTuple):
    """Result of ``reap``.

    Attributes:
        ended: Number of expired claims.
        remains: Whether more claims, tombstones or pins may be due.
        prepared_ms: Age of the prepared claim with the next deadline, or 0.
    """

    ended: int
    remains: bool
    prepared_ms: int = 0


class GroupMembership(NamedTuple):
    """Number of a server group's live claims in a partition, and whether the store may have forgotten others."""

    members: int
    may_have_forgotten: bool
