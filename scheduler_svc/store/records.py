# SPDX-License-Identifier: Apache-2.0
"""What goes into the store's verbs and what comes out: plain frozen records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rpcapi.model.claims import Answer, GroupPolicy, Verdict

SCHEMA = 1  # version of every stored document and log entry; an unknown one is refused, never guessed

Durability = Literal["everysec", "always"]  # what the server's appendfsync is set to
Liveness = Literal["beats", "group"]  # who tells which services live: their signs of life here, or a service group
Amounts = Mapping[str, int]  # resource class -> amount
Allocations = Mapping[str, Amounts]  # provider -> amounts


class Ref(NamedTuple):
    """A claim's identity."""

    consumer: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Group:
    """A server group's policy, counted per node; ``max_per_host`` is read for anti-affinity only."""

    id: str
    policy: GroupPolicy
    max_per_host: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """One host to try; ``allocations`` None means: the batch's resources, all at the host's root provider.

    ``seen`` is the position as of which its sums were known, where that is later than the batch's.
    """

    host: str
    allocations: Allocations | None = None
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """One consumer's wish: the first of ``candidates`` that takes it, in place of attempt ``replaces``.

    The first ``near`` of them are about equally good: of those, one whose sums are still as they were decided on goes
    before one that changed since. Others had the same idea, and it is no longer as good as it was.
    """

    consumer: str
    attempt: int
    candidates: Sequence[Candidate]
    replaces: int | None = None
    near: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Intents that are served together or not at all.

    ``epoch`` and ``position`` name the state that was decided on: a host whose eligibility changed after
    ``position`` answers STALE, one that is full because of a change after it CONCURRENT. ``record`` is the
    decision's document; the script completes it with its own answer in the same step (None: no record).
    ``alternates`` is how many of the candidates after the chosen one are kept on the claim.
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
    group: Group | None = None
    alternates: int = 2
    record: Mapping[str, Any] | None = None

    def told(self, host: str, allocations: Allocations) -> Allocations | None:
        """Return what is answered of a claim's allocations: None where they are the resources at its host."""
        return None if allocations == {host: self.resources} else allocations


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of one intent.

    ``answer`` is PREPARED (also where this very attempt was prepared or confirmed by an earlier call: then
    ``host`` and ``alternates`` are what was answered then), REFUSED, ENDED, CONFLICT, CONFIRMED (the attempt to
    be replaced belongs to its host) or CLOSED. ``verdicts`` has one Verdict for each candidate that was tried.
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


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What prepare answered. ``accepted`` is all-or-nothing; ``current`` False: the batch's epoch is over.

    Where it is not accepted nothing was done, and no attempt that was to be replaced has ended: an intent that would
    have been served answers REFUSED too, and FITS is among its verdicts.

    ``position`` is the log position after the call (a loser's next look must be at least so fresh), ``used`` the
    absolute sums of each provider touched, as of that position.
    """

    accepted: bool
    current: bool
    epoch: int
    position: int
    prepared: Sequence[Prepared]
    used: Mapping[str, Amounts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """What confirm, abort, release or expire answered for one claim."""

    consumer: str
    attempt: int
    answer: Answer
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A live claim (or, with a final state, what is remembered of an ended one)."""

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
    group: Group | None = None
    orphan_ms: int | None = None  # since when its host's audits do not know it
    moved_from: str | None = None  # "consumer@attempt" that handed it over, so that a repeated move is known


@dataclass(frozen=True, slots=True)
class Running:
    """One claim as an agent's audit reports it; ``confirmed`` False: an intent that waits for its confirm."""

    consumer: str
    attempt: int
    confirmed: bool
    host: str
    allocations: Allocations
    type: str
    project: str
    user: str
    request_id: str
    group: Group | None = None


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """What an audit settled; see rpcapi.objects.AuditAnswer."""

    epoch: int
    answers: Sequence[Ended]
    reasserted: int
    released: int
    orphans: int
    again_ms: int


@dataclass(frozen=True, slots=True)
class Verification:
    """What verify found in one atomic look."""

    epoch: int
    position: int
    claims: Mapping[str, int]
    providers: int
    problems: Sequence[str]
    excess: Sequence[Mapping[str, Any]]
    awaited: Sequence[str]  # hosts that may run what the store forgot, and have not audited since


class Entry(NamedTuple):
    """One log entry: absolute values, as of ``position``.

    kind        payload
    provider    {id: provider document}   replaces the provider whole, its ``used`` excepted
    gone        [id, ...]                 providers that are no more
    used        {id: {class: sum}}        sums of live claims at these providers: all their classes, zeros too
    service     {host: service document or null}   null: it left, and is not alive nor opened any more
    alive       {host: bool}              heartbeat transitions
    opened      {host: epoch}             the host was audited in that epoch; 0: an operator fenced it, or it left
    state       {namespace: {name: document or null}}   of declared namespaces; null: it was deleted
    epoch       number                    the store may have forgotten something: resync

    Positions follow on each other, except that an ``epoch`` entry leaps, past all that may have been forgotten.
    """

    position: int
    kind: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a replica needs, as of ``position``: a later entry overrides, an earlier one is in it."""

    epoch: int
    position: int
    providers: Mapping[str, Mapping[str, Any]]
    used: Mapping[str, Amounts]
    services: Mapping[str, Mapping[str, Any]]
    alive: Mapping[str, bool]
    opened: Mapping[str, int]
    states: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)  # namespace -> name -> document


@dataclass(frozen=True, slots=True)
class StatsOutcome:
    """What update_stats did: ``need_full`` asks for a full report, ``audit`` for an audit in ``epoch``."""

    need_full: bool
    epoch: int
    audit: bool
    position: int
