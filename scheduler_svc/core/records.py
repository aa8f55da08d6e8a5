# SPDX-License-Identifier: Apache-2.0
"""Plain data that decisions and the store share: resources, claims, batches, snapshots and log entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.resources.claims import MIGRATION, Answer, ClaimRole, GroupPolicy, Verdict

Amounts = Mapping[str, int]  # resource class -> amount
Allocations = Mapping[str, Amounts]  # provider -> amounts


class ClaimRef(NamedTuple):
    """A claim's identity."""

    consumer: str
    attempt: int


@dataclass(frozen=True, slots=True)
class ClaimGroup:
    """A server group's policy, counted per node; ``max_per_host`` is read for anti-affinity only."""

    id: str
    policy: GroupPolicy
    max_per_host: int = 1


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """Members of a server group as its caller knows them, which may have no claim that names the group.

    A consumer counts on each host that its live claim holds from, unless that names the group, and so counts already.
    Each of ``hosts`` has at least one member. No consumer counts for a claim of its own.
    """

    consumers: Sequence[str] = ()
    hosts: Sequence[str] = ()


NO_MEMBERS = GroupMembers()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One host to try; ``allocations`` None means the batch's resources, all at the host's root provider.

    ``sums_position`` is the log position as of which the host's sums were read, where it is later than the batch's.
    """

    host: str
    allocations: Allocations | None = None
    sums_position: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """A request to place one consumer on the first of ``candidates`` that fits, in place of attempt ``replaces``.

    The first ``near`` candidates scored about equally. Among them, candidates whose sums are unchanged since the
    decision are tried before those that changed: other workers chose those too, so their score is out of date.
    """

    consumer: str
    attempt: int
    candidates: Sequence[Candidate]
    replaces: int | None = None
    near: int = 1


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """Intents that are prepared together or not at all.

    ``epoch`` and ``position`` identify the state that the decision was made on: a host whose eligibility changed
    after ``position`` answers STALE, one that is full because of a later change CONCURRENT. ``record`` is the
    decision's document, to which the script adds its own answer in the same step (None: no record).
    ``group_generation`` is the generation of the server group's partition that was decided under; '' for alternates and
    where there is one partition.
    ``alternates`` is the number of candidates after the selected one that are stored on the claim. ``fresh``: the
    caller is certain that no attempt of these consumers runs that the store does not know; otherwise one may run on any
    host that the store awaits. Fresh or not, none is prepared while a host reports an unverified claim of its consumer.

    ``final``: the claims are the Placement API's from the beginning, confirmed and on no agent's word, as if clients
    had put them as allocations. A consumer has one of these only: it keeps what it holds, and gets from a candidate's
    providers on which it holds nothing; its generation grows by one. A repeated request is recognised by
    ``request_id`` and not by the attempt. ``group_members`` counts in the group's policy besides the group's claims.
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
    group_generation: str = ""
    group_members: GroupMembers = NO_MEMBERS
    alternates: int = 2
    record: Mapping[str, Any] | None = None
    fresh: bool = False
    final: bool = False

    def explicit_allocations(self, host: str, allocations: Allocations) -> Allocations | None:
        """Return a claim's allocations, or None where they are the batch's resources at ``host``."""
        return None if allocations == {host: self.resources} else allocations


@dataclass(frozen=True, slots=True)
class IntentResult:
    """The result of one intent.

    ``answer`` is PREPARED (also where an earlier call prepared or confirmed this attempt: then ``host`` and
    ``alternates`` are as in the earlier answer), REFUSED, ENDED, CONFLICT, CONFIRMED (the attempt to be replaced is
    confirmed and belongs to its host) or CLOSED. ``verdicts`` has one Verdict for each candidate that was tried.
    ``allocations`` is what a prepared claim holds; None: the batch's resources at ``host``.
    """

    consumer: str
    attempt: int
    answer: Answer
    host: str | None = None
    alternates: Sequence[str] = ()
    deadline_ms: int | None = None
    verdicts: Sequence[Verdict] = ()
    allocations: Allocations | None = None

    @property
    def is_new(self) -> bool:
        """Whether this call made the claim; false for a repeated call and for a dry run."""
        return bool(self.verdicts)


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The result of ``prepare``. ``accepted`` holds for all intents; ``current`` False: the batch's epoch is over.

    A batch that is not accepted changes nothing and ends no attempt that was to be replaced. An intent that could
    have been prepared answers REFUSED too, with FITS among its verdicts.

    ``position`` is the log position after the call (a retry must decide on a state at least as new), ``used`` the
    absolute sums of each changed provider, as of that position. ``claimed`` False: nothing was, as in shadow mode.
    """

    accepted: bool
    current: bool
    epoch: int
    position: int
    prepared: Sequence[IntentResult]
    used: Mapping[str, Amounts] = field(default_factory=dict)
    claimed: bool = True


class BatchOutcomes(NamedTuple):
    """The result of ``prepare_all``: the answer to each batch, or the error that it was refused with.

    ``entries`` are those of the log that the store sent with them, None where it sent none or some are missing.
    """

    outcomes: list[BatchAnswer | errors.GanttError]
    entries: "list[LogEntry] | None" = None


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The answer of a claim verb for one claim.

    ``partition`` is set if the answer came from another partition than the called one. ``migration`` is set if the live
    claim is a source or destination. ``end`` is the end of the attempt, CLOSED or UNKNOWN if a later attempt is live.
    """

    consumer: str
    attempt: int
    answer: Answer
    host: str | None = None
    partition: str | None = None
    migration: str | None = None
    end: Answer | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A live claim (or, with a final state, the record of an ended one).

    ``consumer`` holds the resources: the instance or, at the source of a move, the migration. Either way the claim is
    an attempt of the instance, and keeps that identity.
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
    orphan_ms: int | None = None  # since when its host's audits do not report it
    instance: str | None = None  # instance of a source; None: the consumer is the instance
    migration: str | None = None  # migration of a destination; see ``move``
    reported: Allocations | None = None  # amounts of the guest in its agent's last audit; None: ``allocations``

    @property
    def ref(self) -> ClaimRef:
        """Identity: the instance and its attempt."""
        return ClaimRef(self.instance or self.consumer, self.attempt)

    @property
    def role(self) -> ClaimRole:
        """Role among the claims of the instance."""
        if self.move is None:
            return ClaimRole.ONLY
        return ClaimRole.SOURCE if self.type == MIGRATION else ClaimRole.DESTINATION

    @property
    def move(self) -> str | None:
        """Migration of a source or destination; None if the role is ONLY."""
        return self.consumer if self.instance is not None else self.migration

    @property
    def counted_group(self) -> ClaimGroup | None:
        """Server group that counts the claim as a member; None for a source in an affinity group.

        An affinity group counts a moving instance at its destination only. An anti-affinity group counts it at its
        source too, since it may return there.
        """
        is_leaving = self.type == MIGRATION and self.group is not None and self.group.policy is GroupPolicy.AFFINITY
        return None if is_leaving else self.group


class LogEntry(NamedTuple):
    """One log entry: absolute values, as of ``position``.

    kind        payload
    provider    {id: provider document}   replaces the whole provider, except its ``used``
    gone        [id, ...]                 providers that were removed
    used        {id: {class: sum}}        sums of live claims at these providers: all their classes, zeros too
    service     {host: service document or null}   null: it was removed, and is no longer alive or opened
    alive       {host: bool}              heartbeat transitions
    opened      {host: epoch}             the host was audited in that epoch; 0: it was fenced or removed
    state       {namespace: {name: document or null}}   of declared namespaces; null: it was deleted
    epoch       number                    the store may have forgotten something: resync

    Positions are consecutive, except that an ``epoch`` entry skips ahead, past all that may have been forgotten.
    """

    position: int
    kind: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state that a replica needs, as of ``position``: it includes all log entries up to there.

    ``opened`` is the epoch in which each host was audited, 0 for a host that was fenced since, as in the log.
    """

    epoch: int
    position: int
    providers: Mapping[str, Mapping[str, Any]]
    used: Mapping[str, Amounts]
    services: Mapping[str, Mapping[str, Any]]
    alive: Mapping[str, bool]
    opened: Mapping[str, int]
    states: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)  # namespace -> name -> document
