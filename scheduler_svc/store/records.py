# SPDX-License-Identifier: Apache-2.0
"""Results of reports, audits and verification, and settings of a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rpcapi.resources.claims import ClaimRole
from scheduler_svc.core.records import Allocations, ClaimGroup, ClaimRef, ClaimResult

DECISION_BYTES = 32 << 20  # default bound of the decision record
MAX_STEP_MS = 15_000  # default of the longest step of a partition's time, see conf/store.py
MAX_CLOCK_OFFSET_MS = 5_000  # by which a service's clock, or the age of its heartbeat, may differ before it is shown
COLLECT_MS = 120_000  # how long names of forgotten hosts are collected, unless configured otherwise
SCHEMA = 1  # version of every stored document and log entry; an unknown version is rejected

Durability = Literal["everysec", "always"]  # what the server's appendfsync is set to
Liveness = Literal["beats", "group"]  # what decides which services are alive: their heartbeats, or a service group


@dataclass(frozen=True, slots=True)
class RunningClaim:
    """Claim in an agent's audit; ``confirmed`` is false if the agent has not confirmed it yet.

    ``role`` and ``migration`` are as the agent knows them from the last message about a move.
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

    @property
    def ref(self) -> ClaimRef:
        """Identity of the claim."""
        return ClaimRef(self.consumer, self.attempt)


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """The result of an audit; see rpcapi.objects.AuditAnswer. ``position`` is 0 where nothing was done."""

    epoch: int
    answers: Sequence[ClaimResult]
    reasserted: int
    released: int
    orphans: int
    again_ms: int
    position: int = 0


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of ``verify``, as of one atomic read."""

    epoch: int
    position: int
    claims: Mapping[str, int]
    providers: int
    problems: Sequence[str]
    excess: Sequence[Mapping[str, Any]]
    awaited: Sequence[str]  # hosts that may run claims which the store forgot, and have not audited since


@dataclass(frozen=True, slots=True)
class HostReport:
    """A report of a service host; see rpcapi.objects.StatsReport.

    ``nodes`` has all nodes of a ``full`` report, else the changes since the report numbered ``base``. A report that
    registers requests a new incarnation; its own is then the last one that its agent had, or 0. ``proof`` is a verified
    (epoch, position) that the store once had.

    A report that registers has the uuid of the agent's state folder, or ""; whether a store has ``served`` that folder
    before; and a ``refusal``, the reason if the agent takes no new guests.
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
    """The result of ``update_stats``: ``need_full`` requests a full report, ``audit`` an audit in ``epoch``.

    ``superseded`` requests a new registration. ``incarnation`` is that of the host, 0 if it is not the agent's.
    """

    need_full: bool
    epoch: int
    audit: bool
    position: int
    incarnation: int
    superseded: bool = False


def home_key(group_id: str) -> str:
    """Return the key of the pin that records a server group's home."""
    return f"group:{group_id}"


def departure_key(group_id: str) -> str:
    """Return the key of the pin that records under which generation of its home a server group left."""
    return f"left:{group_id}"


class GroupHome(NamedTuple):
    """The partition that serves a server group.

    ``generation`` grows, as text, with each choice for the group, in all epochs of the store that records it.
    """

    partition: str
    generation: str


class ReapResult(NamedTuple):
    """The number of claims that a cleanup ended, and whether it removed as much as it may, so that more may be due.

    ``prepared_ms`` is the age of the prepared claim whose deadline is the next one, by the server's clock, and 0
    without one.
    """

    ended: int
    remains: bool
    prepared_ms: int = 0


class GroupMembership(NamedTuple):
    """The number of a server group's live claims in a partition, and whether the store may have forgotten others."""

    members: int
    may_have_forgotten: bool
