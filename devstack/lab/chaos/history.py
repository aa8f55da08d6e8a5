# SPDX-License-Identifier: Apache-2.0
"""Run history: calls with answers, guests seen on disk, claims seen in the store; one JSON line each.

Several processes append to the file, one ``write`` per line. A killed process leaves at most a torn last line, which
the reader skips. Times are CLOCK_MONOTONIC seconds unless a class says otherwise.
"""

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from devstack.lab.chaos.final_state import Allocations

CUT_SECONDS = 2.0  # a power cut is recorded so long after the first guest ended, at most
FENCED_SECONDS = 60.0  # from a power cut until the host has returned and audited, at most
RETURN_SECONDS = 60.0  # from a loss of claims until the hosts have audited and conductors have acted, at most


class CallOutcome(StrEnum):
    """Outcome of a call as its caller knows it."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"  # definite error: nothing was done
    UNKNOWN = "unknown"  # no answer yet, or never: done or not


@dataclass(slots=True)
class Operation:
    """Call: boot, delete, list or a change.

    ``migrations`` maps instances to the migrations that the call names. A call that the conductors' store forgot
    ``was_forgotten``; its outcome is UNKNOWN.
    """

    verb: str
    uuids: Sequence[str]
    began_at: float
    ended_at: float | None = None
    outcome: CallOutcome = CallOutcome.UNKNOWN
    error: str = ""
    statuses: Mapping[str, str] = field(default_factory=dict)
    migrations: Mapping[str, str] = field(default_factory=dict)
    was_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class GuestSighting:
    """Start or end of a guest on a host; ``others`` describes copies that run at the same time."""

    at: float
    host: str
    uuid: str
    attempt: int
    ended: bool
    others: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ClaimSighting:
    """Write of a partition's claim, at a wall-clock time of ``server``.

    ``consumer`` is the instance, even for a move's source. ``state`` is prepared, confirmed, source (of a migration) or
    the recorded end. A sighting without a consumer starts ``epoch``.
    """

    at: float
    partition: str
    consumer: str = ""
    attempt: int = 0
    state: str = ""
    host: str = ""
    epoch: int = 0
    server: str = ""
    allocations: Allocations = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UseSighting:
    """Write of a sum that grew above a provider's capacity; ``states`` are of the claims in the same script."""

    at: float
    partition: str
    provider: str
    resource_class: str
    used: int
    capacity: int
    before: int = 0
    states: Sequence[str] = ()

    @property
    def is_reasserted(self) -> bool:
        """Whether an audit wrote the sums. It claims running guests even above capacity, but prepares nothing."""
        return bool(self.states) and "prepared" not in self.states


@dataclass(slots=True)
class CallHistory:
    operations: list[Operation] = field(default_factory=list)
    guests: list[GuestSighting] = field(default_factory=list)
    claims: list[ClaimSighting] = field(default_factory=list)
    uses: list[UseSighting] = field(default_factory=list)
    faults: list[Mapping[str, Any]] = field(default_factory=list)

    def uuids(self, verb: str, outcomes: Iterable[CallOutcome] = tuple(CallOutcome)) -> set[str]:
        accepted = set(outcomes)
        return {
            item
            for operation in self.operations
            if operation.verb == verb and operation.outcome in accepted
            for item in operation.uuids
        }

    def forget(self) -> None:
        """Mark the acknowledged calls that the conductors' store forgot."""
        losses = [(fault["forgets_since"], fault["at"]) for fault in self.faults if fault.get("forgets_since")]
        for operation in self.operations:
            if operation.outcome is CallOutcome.ACKNOWLEDGED and operation.ended_at is not None:
                ended_at = operation.ended_at
                operation.was_forgotten = any(since <= ended_at and operation.began_at <= at for since, at in losses)
                if operation.was_forgotten:
                    operation.outcome = CallOutcome.UNKNOWN

    def may_have_forgotten_fence(self, host: str, at: float) -> bool:
        """Return whether a store lost claims shortly before ``at``, and shortly after the host's power was cut."""
        losses = [fault["at"] for fault in self.faults if fault.get("loses_claims")]
        return any(
            cut <= loss <= min(at, cut + FENCED_SECONDS) and at <= loss + RETURN_SECONDS
            for cut in self._power_cuts(host)
            for loss in losses
        )

    def has_lost_power(self, host: str, started_at: float, ended_at: float) -> bool:
        """Return whether a guest that was seen between these times ended with the power of its host."""
        return any(started_at <= cut <= ended_at + CUT_SECONDS for cut in self._power_cuts(host))

    def _power_cuts(self, host: str) -> list[float]:
        return [fault["at"] for fault in self.faults if host in fault.get("hosts", ())]

    def migrations(
        self, verbs: Iterable[str] | None = None, outcomes: Iterable[CallOutcome] = tuple(CallOutcome)
    ) -> dict[str, str]:
        accepted, verb_set = set(outcomes), None if verbs is None else set(verbs)
        return {
            migration: instance
            for operation in self.operations
            if operation.outcome in accepted and (verb_set is None or operation.verb in verb_set)
            for instance, migration in operation.migrations.items()
        }


SIGHTINGS: Mapping[str, type[Any]] = {"guest": GuestSighting, "claim": ClaimSighting, "use": UseSighting}


class HistoryWriter:
    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._clock = clock
        self._name = uuid.uuid4().hex[:8]  # distinguishes the operations of several writers
        self._count = 0
        self._lock = threading.Lock()

    def call(self, verb: str, uuids: Sequence[str], migrations: Mapping[str, str] | None = None) -> str:
        named = dict(migrations or {})
        with self._lock:
            self._count += 1
            operation_id = f"{self._name}-{self._count}"
        row = {"kind": "call", "id": operation_id, "verb": verb, "uuids": list(uuids)}
        self._append(row | ({"migrations": named} if named else {}))
        return operation_id

    def answer(
        self, operation_id: str, outcome: CallOutcome, error: str = "", statuses: Mapping[str, str] | None = None
    ) -> None:
        self._append(
            {"kind": "answer", "id": operation_id, "outcome": outcome, "error": error, "statuses": statuses or {}}
        )

    def sighting(self, kind: str, **values: Any) -> None:
        """Record an observation of a kind in SIGHTINGS; ``at`` defaults to now."""
        self._append({"kind": kind, **values})

    def fault(self, **values: Any) -> None:
        self._append({"kind": "fault", **values})

    def close(self) -> None:
        os.close(self._fd)

    def _append(self, document: Mapping[str, Any]) -> None:
        line = json.dumps({"at": self._clock(), **document}, separators=(",", ":"))
        os.write(self._fd, line.encode() + b"\n")


def read(path: Path) -> CallHistory:
    history = CallHistory()
    operations: dict[str, Operation] = {}
    if not path.exists():
        return history
    with path.open("rb") as lines:
        for line in lines:
            try:
                document = json.loads(line)
            except ValueError:
                continue
            _add(history, operations, document)
    history.forget()
    return history


def _add(history: CallHistory, operations: dict[str, Operation], document: dict[str, Any]) -> None:
    kind = document.pop("kind")
    if kind == "call":
        migrations = document.get("migrations", {})
        operation = Operation(document["verb"], document["uuids"], document["at"], migrations=migrations)
        operations[document["id"]] = operation
        history.operations.append(operation)
    elif kind == "answer":
        operation = operations[document["id"]]
        operation.ended_at = document["at"]
        operation.outcome, operation.error = CallOutcome(document["outcome"]), document["error"]
        operation.statuses = document["statuses"]
    elif kind == "fault":
        history.faults.append(document)
    else:
        rows: dict[str, list[Any]] = {"guest": history.guests, "claim": history.claims, "use": history.uses}
        rows[kind].append(SIGHTINGS[kind](**document))
