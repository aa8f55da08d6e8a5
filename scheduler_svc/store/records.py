# SPDX-License-Identifier: Apache-2.0
"""Results of reports, audits and verification; options of a store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.resources.claims import ClaimRole
from scheduler_svc.core.records import Allocations, ClaimGroup, ClaimRef, ClaimResult

MAX_STEP_MS = 15_000  # longest step of partition time; see conf/store.py
MAX_CLOCK_OFFSET_MS = 5_000  # smaller clock offsets are not shown
COLLECT_MS = 120_000  # how long names of forgotten hosts are collected
SCHEMA = 1  # other schema versions of documents and log entries are rejected

Durability = Literal["everysec", "always"]  # server's appendfsync setting
Liveness = Literal["beats", "group"]  # source of liveness: heartbeats or a service group


class StoreOptions(TypedDict, total=False):
    """Options of a partition's store; a backend ignores those of other backends.

    Attributes:
        durability: With "always", restarting a single server begins no new epoch.
        log_length: Maximum number of log entries.
        decision_bytes: Maximum size of the decision record.
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
    """Claim of a guest in an audit; its move is from the agent's last message about one, see MoveEnd."""

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
    """Result of an audit; see rpcapi.objects.AuditAnswer. ``position`` 0 means nothing was done."""

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
        incarnation: From the last registration; in a registration the agent's previous one, or 0.
        nodes: All nodes if ``full``, otherwise changes since report number ``base``.
        register: Requests a new incarnation.
        proof: Verified (epoch, position) that the store once had.
        host_uuid: In a registration, uuid of the agent's state folder, or "".
        served: Whether a store has served that folder before.
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
        need_full: Requests a full report.
        audit: Requests an audit in ``epoch``.
        incarnation: The host's incarnation, or 0 if another agent has it.
        superseded: Requests a new registration.
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
    """Partition that serves a server group. ``generation`` grows, as text, with each choice and across epochs."""

    partition: str
    generation: str


class ReapResult(NamedTuple):
    """Number of ended claims, whether more may be due, and age of the next prepared claim to expire, or 0."""

    ended: int
    remains: bool
    prepared_ms: int = 0


class GroupMembership(NamedTuple):
    """Live claims of a server group in a partition, and whether the store may have forgotten others."""

    members: int
    may_have_forgotten: bool
