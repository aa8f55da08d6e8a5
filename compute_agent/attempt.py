# SPDX-License-Identifier: Apache-2.0
"""Attempt to run an instance on this host: the unit of the journal, identified by its claim."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from compute_agent.newer_state import check_fields, read_word, without_empty
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.statuses import AttemptResult


class AttemptRef(NamedTuple):
    uuid: str
    attempt: int


class Stage(StrEnum):
    INTENT = "intent"  # admitted; claim not yet confirmed
    CONFIRMED = "confirmed"  # claim confirmed; guest not yet spawned
    INCOMING = "incoming"  # claim confirmed; guest paused, filled by a copy from another host
    SPAWNED = "spawned"  # guest spawned
    STOPPED = "stopped"  # guest powered off; keeps disk and claim
    GONE = "gone"  # ended: nothing runs or will be started


class ClaimEnd(StrEnum):
    """Claim verb that the saga must still send for an ended attempt."""

    NOTHING = "nothing"  # the store answered that the claim is over
    ABORT = "abort"  # the claim was never confirmed
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class CopyState:
    """Last copy of a guest from this host.

    Attributes:
        phase: Phase as in rpcapi.objects.copy.
        reason: Why the copy failed.
        post_copy: Whether the guest may continue at its destination before all memory is copied.
    """

    number: int
    phase: str
    reason: str = ""
    post_copy: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """Journal record of an attempt, complete enough to re-assert its claim.

    Attributes:
        at_ms: Time at which the attempt reached its stage.
        request_id: Id of the latest message about the attempt.
        allocations: {provider: {class: amount}}.
        assignments: {resource kind: assignment}.
        owner: Owner of the claim, as in AuditReport.
        outcome, reason, claim_end: Set when the attempt has ended.
        reported: Whether the conductor has acknowledged the outcome.
        operation: Number of the guest's last reboot or rebuild; 0 if none.
        starts_off: Whether to create the guest powered off.
        role, migration, source_attempt: MoveEnd of the claim, from the conductor's last message about a move.
        transition: Number of the last message about a move or about power; 0 if none.
        stopped_for: Migration for which the guest was stopped; "" if none.
        is_incoming: Whether to create the guest paused, for a copy from another host to fill.
        copy: Last copy of the guest from this host.
    """

    uuid: str
    attempt: int
    stage: Stage
    at_ms: int
    request_id: str = ""
    name: str = ""
    allocations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    assignments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    owner: Mapping[str, Any] = field(default_factory=dict)
    outcome: AttemptResult | None = None
    reason: str = ""
    claim_end: ClaimEnd = ClaimEnd.NOTHING
    reported: bool = False
    operation: int = 0
    starts_off: bool = False
    role: ClaimRole = ClaimRole.ONLY
    migration: str = ""
    source_attempt: int | None = None
    transition: int = 0
    stopped_for: str = ""
    is_incoming: bool = False
    copy: CopyState | None = None

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.uuid, self.attempt)

    @property
    def live(self) -> bool:
        """Whether the attempt holds resources on this host."""
        return self.stage is not Stage.GONE

    @property
    def outcome_if_ended(self) -> AttemptResult:
        """Outcome of an end that nobody requested: REFUSED before the first acknowledged report, then GONE."""
        return AttemptResult.GONE if self.reported else AttemptResult.REFUSED

    def to_ended(
        self, outcome: AttemptResult, reason: str, claim_end: ClaimEnd, at_ms: int, request_id: str | None = None
    ) -> "Attempt":
        """Return the attempt as ended, without resources. The owner stays, for the context of later calls."""
        return replace(
            self,
            stage=Stage.GONE,
            at_ms=at_ms,
            request_id=request_id or self.request_id,
            allocations={},
            assignments={},
            outcome=outcome,
            reason=reason,
            claim_end=claim_end,
            reported=False,
            stopped_for="",
        )

    def to_ended_by_request(self, at_ms: int, request_id: str) -> "Attempt":
        """Return the attempt as ended at the conductor's request: FAILED if its guest never ran."""
        outcome = AttemptResult.FAILED if self.is_incoming else AttemptResult.GONE
        return self.to_ended(outcome, "stopped and released by request", ClaimEnd.RELEASE, at_ms, request_id)

    @property
    def move(self) -> MoveEnd:
        return MoveEnd(self.role, self.migration or None, self.source_attempt)

    def to_end_of_move(self, move: MoveEnd) -> "Attempt":
        """Return the attempt with this end of a move; role ONLY also drops the copy."""
        if move.role is ClaimRole.ONLY:
            return replace(self, role=move.role, migration="", source_attempt=None, copy=None)
        return replace(self, role=move.role, migration=move.migration or "", source_attempt=move.source_attempt)

    def as_dict(self) -> dict[str, Any]:
        """Return the journal document. It shares the mappings: dataclasses.asdict takes ten times as long."""
        document = {name: getattr(self, name) for name in self.__dataclass_fields__}
        document["copy"] = asdict(self.copy) if self.copy else None
        document["role"] = None if self.role is ClaimRole.ONLY else self.role
        return without_empty(document, required=("at_ms",))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "Attempt":
        """Read a journal document.

        Raises ValueError, TypeError, KeyError, or NewerState for unknown fields and enum values.
        """
        values = dict(raw)
        record = f"the journal's attempt {values['attempt']} of {values['uuid']}"
        check_fields(record, values, cls.__dataclass_fields__)
        values["stage"] = read_word(record, "stage", Stage, values["stage"])
        values["claim_end"] = read_word(record, "claim_end", ClaimEnd, values["claim_end"])
        outcome = values.get("outcome")
        values["outcome"] = read_word(record, "outcome", AttemptResult, outcome) if outcome else None
        if values.get("copy") is not None:
            check_fields(f"{record}, copy", values["copy"], CopyState.__dataclass_fields__)
            values["copy"] = CopyState(**values["copy"])
        values["role"] = read_word(record, "role", ClaimRole, values.get("role", ClaimRole.ONLY))
        return cls(**values)


def group_by_request(attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """Group attempts by request id, because a call to another service carries one request id."""
    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault(attempt.request_id, []).append(attempt)
    return groups
