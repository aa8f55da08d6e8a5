# SPDX-License-Identifier: Apache-2.0
"""What the conductor's store holds: plain frozen records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

SCHEMA = 1  # version of every stored document; an unknown one is refused, never guessed


class Status(StrEnum):
    """What an instance's owner sees."""

    SCHEDULING = "SCHEDULING"
    BUILDING = "BUILDING"
    ACTIVE = "ACTIVE"
    ERROR = "ERROR"
    DELETING = "DELETING"
    DELETED = "DELETED"


class Step(StrEnum):
    """What has to be done next for an instance, by whoever holds its request's lease."""

    SELECT = "select"  # ask the scheduler for hosts
    CAST = "cast"  # tell the host to build
    WAIT = "wait"  # for the host's report; tell it again now and then, in the end look for an alternate
    ALTERNATE = "alternate"  # end this attempt and prepare the next on an alternate
    SETTLE = "settle"  # ask the claims what holds: record and claim have parted
    ABORT = "abort"  # end the claim, if it is not confirmed
    TERMINATE = "terminate"  # tell the host to stop the guest, until it says that it is gone
    DONE = "done"  # nothing


@dataclass(frozen=True, slots=True)
class Request:
    """One call of build_instances. ``key`` is its identity: the same call again has the same key.

    ``spec`` is the versioned RequestSpec's primitive.
    """

    key: str
    request_id: str
    project: str
    user: str
    flavor: str | None
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance. The store sets ``version`` (grows with each write), ``sequence`` and the two times.

    ``attempt`` is the present, or last, attempt's number; ``history`` has {attempt, host, outcome, reason} of each
    one that ended. ``allocations`` is what the claim holds, {provider: {class: amount}}; None: the request's resources
    at ``host``. ``partition``, ``epoch`` and ``position`` say which decision ``alternates`` come from.
    ``wake_ms`` is when ``step`` is to be taken, on the store's clock (0: at once), ``tries`` how often it failed
    in a row, ``since_ms`` since when it has been waited for what ends the step (0: it is not waited for), ``asked``
    whether a host that confirmed and then kept silent was given its time once more.
    """

    uuid: str
    request: str
    status: Status = Status.SCHEDULING
    step: Step = Step.SELECT
    wake_ms: int = 0
    attempt: int = 1
    host: str | None = None
    allocations: Mapping[str, Mapping[str, int]] | None = None
    alternates: Sequence[str] = ()
    partition: str | None = None
    epoch: int = 0
    position: int = 0
    history: Sequence[Mapping[str, Any]] = ()
    reason: str | None = None
    asked: bool = False
    tries: int = 0
    since_ms: int = 0
    version: int = 1
    sequence: int = 0
    created_ms: int = 0
    updated_ms: int = 0

    def has_ended(self, attempt: int) -> bool:
        """Tell whether that attempt is known to have ended."""
        return any(entry["attempt"] == attempt for entry in self.history)


class Lease(NamedTuple):
    """The right to work on a request's instances.

    ``token`` is a number that grows and the holder's name: no two holders have the same, not even when the store
    lost its last seconds and counts some numbers again.
    """

    request: str
    token: str
    taken_over: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """What a lease's holder has to do now.

    ``instances`` are those whose step is due at ``now_ms``, ``next_ms`` is when the next of the others is
    (None: none of them has a step).
    """

    request: Request
    instances: Sequence[Instance]
    now_ms: int
    next_ms: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """Instances, oldest first; ``marker`` is None on the last page."""

    instances: Sequence[Instance]
    marker: str | None


@dataclass(frozen=True, slots=True)
class Terms:
    """How long things are kept, in milliseconds.

    A lease that is not renewed ends after ``lease_ms``; a deleted instance's record is forgotten after
    ``retention_ms``, and only then could a delayed repetition of its request build it again.
    """

    lease_ms: int = 30_000
    retention_ms: int = 86_400_000


class LeaseLost(Exception):
    """Raised when another conductor has taken the work over; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write: the uuids whose record had changed meanwhile, and so was left alone."""

    now_ms: int
    stale: frozenset[str] = field(default_factory=frozenset)
