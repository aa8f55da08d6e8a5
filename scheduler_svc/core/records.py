# SPDX-License-Identifier: Apache-2.0
"""Plain data shared by decisions and the store: resources, claims, batches, snapshots and log entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.resources.claims import MIGRATION, Answer, ClaimRole, GroupPolicy, Verdict

Amounts = Mapping[str, int]  # resource class -> amount
Allocations = Mapping[str, Amounts]  # provider -> amounts

# Pseudo resource classes of used sums. They are in lower case, unlike resource classes, and have no capacity.
CLAIMS = "claims"  # number of live claims on a node, or with allocations from a provider
FOREIGN_CLAIMS = "foreign_claims"  # live claims of nodes of other service hosts; no agent builds them here
CLAIM_COUNTS = frozenset({CLAIMS, FOREIGN_CLAIMS})


class ClaimRef(NamedTuple):
    consumer: str
    attempt: int


@dataclass(frozen=True, slots=True)
class ClaimGroup:
    """Server group with its policy, which counts members per node. ``max_per_host`` applies only to anti-affinity."""

    id: str
    policy: GroupPolicy
    max_per_host: int = 1


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """Members of a server group that the caller names, because their claims may not name the group.

    A consumer counts on each host of its live claim, but not if that claim already counts for the group, and not
    against the consumer's own claim. Each of ``hosts`` counts as having at least one member.
    """

    consumers: Sequence[str] = ()
    hosts: Sequence[str] = ()


NO_MEMBERS = GroupMembers()


class ClaimLimits(NamedTuple):
    """How many live claims a node may have, including the new one; None means no limit."""

    claims: int | None = None
    builds: int | None = None  # claims that are neither built nor foreign


UNLIMITED = ClaimLimits()


@dataclass(frozen=True, slots=True)
class Candidate:
    host: str
    allocations: Allocations | None = None  # None means the batch's resources from the host's root provider
    sums_position: int = 0  # log position at which the host's sums were read, if later than the batch's
    limits: ClaimLimits = UNLIMITED


@dataclass(frozen=True, slots=True)
class Intent:
    """Request to place a consumer on the first candidate that fits, instead of attempt ``replaces``.

    The first ``near`` candidates scored about equally. Those with unchanged sums are tried first, because a change by
    another worker outdates a score.
    """

    consumer: str
    attempt: int
    candidates: Sequence[Candidate]
    replaces: int | None = None
    near: int = 1
    migration: str | None = None
    source_attempt: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """Intents that are prepared together or not at all.

    The decision was made at ``epoch`` and ``position``. If a host's eligibility changed since then, the verdict is
    STALE; if the host was filled since then, CONCURRENT.

    An attempt that is not ``fresh`` may run on any awaited host, so it stays CLOSED until those hosts have audited.
    Nothing is prepared while a host reports an unverified claim of the consumer.

    ``final`` claims are confirmed at once, like allocations that clients write. If the consumer has a claim, that claim
    keeps its allocations, gets those from further providers, and its generation grows by one. The ``request_id``, not
    the attempt, identifies a repeated request.
    """

    request_id: str
    project: str
    user: str
    resources: Amounts
    intents: Sequence[Intent]
    epoch: int
    position: int
    ttl_ms: int
    consumer_type: str = "INSTANCE"
    group: ClaimGroup | None = None
    group_generation: str = ""  # generation of the server group's home; "" for alternates, or with a single partition
    group_members: GroupMembers = NO_MEMBERS  # Members that the group's claims do not count.
    alternates: int = 2  # number of further candidates to store on the claim
    record: Mapping[str, Any] | None = None  # decision record; the store adds its answer atomically
    fresh: bool = False  # whether certainly no attempt of these consumers runs that the store does not know
    final: bool = False  # whether the claims belong to the Placement API

    def explicit_allocations(self, host: str, allocations: Allocations) -> Allocations | None:
        """Return a claim's allocations, or None if they are the batch's resources at ``host``."""
        return None if allocations == {host: self.resources} else allocations


@dataclass(frozen=True, slots=True)
class IntentResult:
    """Result of one intent.

    ``answer`` is PREPARED, REFUSED, ENDED, CONFLICT, CONFIRMED (the attempt to replace is confirmed) or CLOSED. It is
    also PREPARED if an earlier call prepared or confirmed the attempt; ``host`` and ``alternates`` are then that
    call's.
    """

    consumer: str
    attempt: int
    answer: Answer
    host: str | None = None
    alternates: Sequence[str] = ()
    deadline_ms: int | None = None
    verdicts: Sequence[Verdict] = ()  # One verdict per tried candidate.
    allocations: Allocations | None = None  # None means the batch's resources at the host

    @property
    def is_new(self) -> bool:
        """Whether this call made the claim. False for repeated calls and dry runs."""
        return bool(self.verdicts)


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """Result of ``prepare``. Unless accepted, nothing changed, and intents that fit are REFUSED with verdict FITS."""

    accepted: bool  # All intents are prepared.
    current: bool  # False if the batch's epoch has ended
    epoch: int
    position: int  # log position after the call; a retry must decide on this state or a later one
    prepared: Sequence[IntentResult]
    # Absolute sums of each changed provider at ``position``.
    used: Mapping[str, Amounts] = field(default_factory=dict)
    claimed: bool = True  # False if nothing was claimed, as in shadow mode


class BatchOutcomes(NamedTuple):
    """Answer or error of each batch, and the log entries that came with them (None if incomplete)."""

    outcomes: list[BatchAnswer | errors.GanttError]
    entries: "list[LogEntry] | None" = None


@dataclass(frozen=True, slots=True)
class ClaimResult:
    consumer: str
    attempt: int
    answer: Answer
    host: str | None = None
    partition: str | None = None  # set if a partition other than the called one answered
    migration: str | None = None  # set if the live claim is a source or destination
    end: Answer | None = None  # if a later attempt is live: how this attempt ended, CLOSED or UNKNOWN


@dataclass(frozen=True, slots=True)
class Claim:
    """Live claim, or with a final state, the record of an ended claim.

    ``consumer`` has the allocations: the instance or, at the source of a move, the migration. In both cases the claim
    is an attempt of the instance.
    """

    consumer: str
    attempt: int
    generation: int
    type: str
    project: str
    user: str
    state: str
    host: str
    allocations: Allocations
    request_id: str
    created_ms: int
    deadline_ms: int | None = None
    alternates: Sequence[str] = ()
    group: ClaimGroup | None = None
    orphan_ms: int | None = None  # time since which the host's audits have not reported the claim
    instance: str | None = None  # set on a source; None if the consumer is the instance
    migration: str | None = None  # set on a destination; see ``move``
    source_attempt: int | None = None  # set on a destination: attempt at the source of the move
    reported: Allocations | None = None  # amounts of the guest in the agent's last audit; None means ``allocations``

    @property
    def ref(self) -> ClaimRef:
        """Identity of the claim: instance and attempt."""
        return ClaimRef(self.instance or self.consumer, self.attempt)

    @property
    def role(self) -> ClaimRole:
        if self.move is None:
            return ClaimRole.ONLY
        return ClaimRole.SOURCE if self.type == MIGRATION else ClaimRole.DESTINATION

    @property
    def move(self) -> str | None:
        """Migration of a source or destination. None for role ONLY."""
        return self.consumer if self.instance is not None else self.migration

    @property
    def counted_group(self) -> ClaimGroup | None:
        """Server group that counts the claim as a member: affinity does not count the source of a move."""
        is_leaving = self.type == MIGRATION and self.group is not None and self.group.policy is GroupPolicy.AFFINITY
        return None if is_leaving else self.group


class LogEntry(NamedTuple):
    """Log entry with absolute values as of ``position``.

    kind        payload
    provider    {id: provider document}   replaces the whole provider except ``used``
    gone        [id, ...]                 removed providers
    used        {id: {class: sum}}        sums of live claims, for all classes of the provider, zeros included
    service     {host: service document or null}   null: removed, and no longer alive or opened
    alive       {host: bool}              changes of liveness
    opened      {host: epoch}             epoch of an audit; 0: fenced or removed
    state       {namespace: {name: document or null}}   declared namespaces; null: deleted
    epoch       number                    the store may have lost writes: resync

    Positions are consecutive, but an ``epoch`` entry skips all positions that may have been lost.
    """

    position: int
    kind: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Replicated state with all log entries up to ``position`` applied."""

    epoch: int
    position: int
    providers: Mapping[str, Mapping[str, Any]]
    used: Mapping[str, Amounts]
    services: Mapping[str, Mapping[str, Any]]
    alive: Mapping[str, bool]
    opened: Mapping[str, int]  # epoch of each host's last audit; 0 if the host was fenced since
    states: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)  # namespace -> name -> document
