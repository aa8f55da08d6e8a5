# SPDX-License-Identifier: Apache-2.0
"""One attempt to run an instance on this host: the journal's unit, with the identity of its claim."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple


class Ref(NamedTuple):
    """An attempt's identity, which is its claim's."""

    uuid: str
    attempt: int


class Stage(StrEnum):
    """How far an attempt has come, by the journal."""

    INTENT = "intent"  # admitted; its claim is to be confirmed
    CONFIRMED = "confirmed"  # its claim is confirmed; the guest is to be spawned
    SPAWNED = "spawned"  # its guest was spawned
    GONE = "gone"  # nothing runs under it, and nothing ever will


class Outcome(StrEnum):
    """What the conductor is told; see rpcapi.objects.BuildReport."""

    ACTIVE = "active"
    REFUSED = "refused"
    FAILED = "failed"
    GONE = "gone"


class ClaimEnd(StrEnum):
    """What is still owed to the store for an attempt that is gone."""

    NOTHING = "nothing"  # the store said itself that the claim had ended
    ABORT = "abort"  # never confirmed
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Attempt:
    """All that is known of an attempt, and all that the store needs to re-assert its claim.

    ``allocations`` is {provider: {class: amount}}, ``assignments`` what it was given of each resource kind by the
    kind's name, ``owner`` what AuditReport calls so. ``request_id`` is that of the message that asked last.
    ``outcome``, ``reason`` and ``claim_end`` are set once it is gone. ``at_ms`` is when it got to its stage;
    ``reported`` whether the conductor has acknowledged what came of it.
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
    outcome: Outcome | None = None
    reason: str = ""
    claim_end: ClaimEnd = ClaimEnd.NOTHING
    reported: bool = False

    @property
    def ref(self) -> Ref:
        """The attempt's identity."""
        return Ref(self.uuid, self.attempt)

    @property
    def live(self) -> bool:
        """Whether it holds resources here."""
        return self.stage is not Stage.GONE

    @property
    def outcome_if_ended(self) -> Outcome:
        """What an end that nobody asked of this host comes to.

        The conductor waits for an attempt's first outcome; once it has that, it learns that the instance is gone.
        """
        return Outcome.GONE if self.reported else Outcome.REFUSED

    def gone(
        self, outcome: Outcome, reason: str, claim_end: ClaimEnd, at_ms: int, request_id: str | None = None
    ) -> "Attempt":
        """Return it as ended; what it held is dropped, its owner stays for the context of calls."""
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
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the journalled form; few attempts have assignments, and agents before these wrote none."""
        told = asdict(self)
        if not self.assignments:
            del told["assignments"]
        return told

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "Attempt":
        """Rebuild from the journalled form; raises ValueError, TypeError or KeyError when it is none."""
        values = dict(raw)
        values["stage"] = Stage(values["stage"])
        values["claim_end"] = ClaimEnd(values["claim_end"])
        values["outcome"] = Outcome(values["outcome"]) if values["outcome"] else None
        return cls(**values)


def by_request(attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """Return the attempts by request id, so that a call about them carries the id of the request it serves."""
    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault(attempt.request_id, []).append(attempt)
    return groups
