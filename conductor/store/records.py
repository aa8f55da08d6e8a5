# SPDX-License-Identifier: Apache-2.0
"""Records of the conductor's store, as frozen dataclasses."""

import hashlib
import re
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from conductor.store.migrations import MigrationRecord
from rpcapi import errors
from rpcapi.resources.statuses import WITHOUT_CLAIM, InstanceStatus, MigrationKind, MigrationStatus
from rpcapi.validation.text import is_sequence

Record = TypeVar("Record")

PROJECT_DIGITS = 16  # hex digits kept from the SHA-256 of a project id
SCHEMA = 1  # schema version of stored documents; other versions are rejected


class SagaStep(StrEnum):
    """Next step of an instance's saga, run by the conductor that holds the request's lease."""

    SELECT = "select"  # ask the scheduler for hosts
    CAST = "cast"  # send the build message
    WAIT = "wait"  # wait for the build report; resend the message, then fall back to an alternate
    ALTERNATE = "alternate"  # end this attempt and prepare the next on an alternate
    SETTLE = "settle"  # read the claim after it disagreed with the record
    ABORT = "abort"  # abort the claim unless it is confirmed
    POWER = "power"  # repeat the power request (stop, start, reboot, rebuild) until the host reports its result
    OFFLOAD = "offload"  # wait for [conductor] shelved_offload_time, then release the shelved instance's host
    UNSHELVE = "unshelve"  # ask the scheduler for a host of one instance
    EVACUATE = "evacuate"  # ask the scheduler for a host of an instance whose host is gone
    TERMINATE = "terminate"  # repeat terminate until the host reports that the guest is gone
    BEGIN_MOVE = "begin_move"  # make the instance's claim the source of its migration
    DESTINATION = "destination"  # ask the scheduler for a destination
    STOP_SOURCE = "stop_source"  # repeat stop until the source reports it
    VERIFY = "verify"  # wait for confirm or revert, at most [conductor] resize_confirm_window
    PREPARE_COPY = "prepare_copy"  # check both ends of a live migration, then create a paused guest at the destination
    COPY = "copy"  # repeat the copy request until the source reports the end of the copy
    SWITCH = "switch"  # repeat the run request until the destination reports that the copied guest runs
    END_SOURCE = "end_source"  # repeat the end request until the source reports that the guest is gone
    END_MOVE = "end_move"  # make the source the instance's only claim again
    STOP_DESTINATION = "stop_destination"  # revert: repeat stop until the destination reports it
    RESUME = "resume"  # repeat the request to continue the guest until the source reports it
    DONE = "done"  # no step left


@dataclass(frozen=True, slots=True)
class BuildRequestRecord:
    """Accepted call of build_instances.

    Attributes:
        key: Identity of the call; a repeated call has the same key.
        spec: Primitive of the versioned RequestSpec.
        names: {uuid: display name}.
    """

    key: str
    request_id: str
    project: str
    user: str
    flavor: str | None
    spec: Mapping[str, Any]
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """Conductor's record of one instance.

    The store sets ``version`` (random, new on every write), ``sequence`` and both timestamps.

    Attributes:
        wake_ms: Store time at which ``step`` is due; 0 means now.
        attempt: Number of the current or last attempt.
        last_attempt: Number above ``attempt`` that a message, or an attempt before a return to the source, has used; 0
            if none.
        allocations: {provider: {class: amount}} of the claim; None means the request's resources on ``host``.
        partition, epoch, position: Replica state of the decision that produced ``alternates``.
        history: One {attempt, host, outcome, reason} per ended attempt.
        asked: Whether the build was sent again to a host that confirmed the claim but did not report in time.
        tries: Consecutive failures of ``step``.
        since_ms: Start of the current wait; 0 if not waiting.
        refused_ms: First refusal of the current selection; 0 if none.
        certain_epoch: Epoch of this store in which the record surely names every attempt that a host may run; 0 if
            none.
        migration: Current or last migration, stored together with this record.
        operation: Number of the reboot or rebuild in progress; 0 if none.
        is_shelved: Whether an image is stored and the instance has not run since; without a claim it is
            SHELVED_OFFLOADED.
        was_stopped: Whether the instance was powered off before its host was lost or its rebuild began.
        target: Only host on which the instance may be unshelved.
        spec, flavor, amounts: RequestSpec primitive, flavor and quota amounts after a resize; None means the request's.
    """

    uuid: str
    request: str
    status: InstanceStatus = InstanceStatus.SCHEDULING
    step: SagaStep = SagaStep.SELECT
    wake_ms: int = 0
    attempt: int = 1
    last_attempt: int = 0
    host: str | None = None
    allocations: Mapping[str, Mapping[str, int]] | None = None
    alternates: Sequence[str] = ()
    partition: str | None = None
    epoch: int = 0
    position: int = 0
    history: Sequence[Mapping[str, Any]] = ()
    reason: str | None = None
    asked: bool = False  # pylint: disable=disallowed-name  # the name under which it is stored
    tries: int = 0
    since_ms: int = 0
    refused_ms: int = 0
    certain_epoch: int = 0
    migration: MigrationRecord | None = None
    operation: int = 0
    is_shelved: bool = False
    was_stopped: bool = False
    target: str | None = None
    spec: Mapping[str, Any] | None = None
    flavor: str | None = None
    amounts: Mapping[str, int] | None = None
    version: int = 1
    sequence: int = 0
    created_ms: int = 0
    updated_ms: int = 0

    @property
    def is_counted(self) -> bool:
        """Whether the instance uses quota, or may still come to use it."""
        has_ended = self.status in WITHOUT_CLAIM and self.step == SagaStep.DONE
        return self.status != InstanceStatus.DELETED and not has_ended

    @property
    def open_migration(self) -> MigrationRecord | None:
        """Migration in progress that has, or will have, a claim on its source; None for an evacuation."""
        migration = self._migration_under_way
        return None if migration is None or migration.kind == MigrationKind.EVACUATION else migration

    @property
    def evacuation(self) -> MigrationRecord | None:
        """Evacuation in progress, if any. Unlike other migrations, it has no claim."""
        migration = self._migration_under_way
        return migration if migration is not None and migration.kind == MigrationKind.EVACUATION else None

    @property
    def _migration_under_way(self) -> MigrationRecord | None:
        return None if self.migration is None or self.migration.has_ended else self.migration

    @property
    def move(self) -> MigrationRecord:
        """The open migration; raises ValueError without one."""
        if self.open_migration is None:
            raise ValueError(f"instance {self.uuid} has no open migration")
        return self.open_migration

    @property
    def is_at_source(self) -> bool:
        """Whether the current claim is the open move's source: before a selection or after the return."""
        return self.open_migration is not None and self.attempt == self.open_migration.source_attempt

    @property
    def shown_status(self) -> InstanceStatus:
        """User-visible status; an evacuation shows REBUILD, like Nova."""
        is_rebuilt = self.status == InstanceStatus.BUILDING and self.evacuation is not None
        return InstanceStatus.REBUILD if is_rebuilt else self.status

    @property
    def guest_host(self) -> str | None:
        """Resource name of the guest's host. During a move, the source until the guest stops there."""
        migration = self.open_migration
        if migration is None:
            return self.host
        if migration.kind == MigrationKind.LIVE:
            is_at_source = not migration.copy_phase
        else:
            is_resumed = self.step in (SagaStep.RESUME, SagaStep.TERMINATE)
            is_at_source = migration.status == MigrationStatus.PREPARING or (
                is_resumed and migration.status == MigrationStatus.REVERTING
            )
        return migration.source_host if is_at_source or self.host is None else self.host

    @property
    def next_attempt(self) -> int:
        """Number of the next attempt, above all earlier ones."""
        return self.transition_number + 1

    @property
    def transition_number(self) -> int:
        """Number for messages that change the guest: the highest that an attempt or message has used."""
        return max(self.attempt, self.last_attempt)

    @property
    def builds(self) -> int:
        """Number of attempts that a host may have been asked to build."""
        return len(self.history) + (not self.has_ended(self.attempt))

    def has_ended(self, attempt: int) -> bool:
        """Return whether the history contains the end of ``attempt``."""
        return any(entry["attempt"] == attempt for entry in self.history)


class RequestLease(NamedTuple):
    """Exclusive right to process a request's instances.

    Attributes:
        token: Random, so that it never repeats, even after the store lost writes.
        is_takeover: Whether the previous holder never released the lease.
        steps: Number of instances with a next step.
    """

    request: str
    token: str
    is_takeover: bool = False
    steps: int = 0


@dataclass(frozen=True, slots=True)
class DueWork:
    """Due work of a leased request.

    Attributes:
        instances: Instances with a step due at ``now_ms``.
        next_ms: Time at which the next other instance is due; None if no other has a step.
        may_repeat: Whether callers may still repeat requests that the store had lost when ``epoch`` began.
    """

    request: BuildRequestRecord
    instances: Sequence[InstanceRecord]
    now_ms: int
    next_ms: int | None
    epoch: int = 0
    may_repeat: bool = True


@dataclass(frozen=True, slots=True)
class RecordPage(Generic[Record]):
    """Page of instances or migrations, oldest first; ``marker`` is None on the last page.

    ``unreadable`` has the records of a newer release: their readable fields, with stored words for status and kind.
    Their ``reason`` tells why the document cannot be read.
    """

    records: Sequence[Record]
    marker: str | None
    unreadable: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """Times of the store, in milliseconds.

    Attributes:
        lease_ms: Time after which an unrenewed lease expires.
        retention_ms: Time that deleted records are kept; until then a delayed duplicate request cannot build again.
        max_step_ms: Maximum by which one step of the server's clock advances the store's time.
        repeat_horizon_ms: Time for which callers may repeat a request.
        clock_difference_ms: Maximum difference between a caller's clock and the store's.
    """

    lease_ms: int = 30_000
    retention_ms: int = 86_400_000
    max_step_ms: int = 15_000
    repeat_horizon_ms: int = 900_000
    clock_difference_ms: int = 2_000

    def check_age(self, clock_ms: int, first_sent_ms: int | None) -> None:
        """Raise RequestTooOld if an unrecorded request was first sent too long before ``clock_ms``."""
        age_ms = 0 if first_sent_ms is None else clock_ms - first_sent_ms
        if age_ms > self.repeat_horizon_ms:
            raise errors.RequestTooOld(age_s=age_ms / 1000, horizon_s=self.repeat_horizon_ms / 1000)

    def certain_epoch(self, epoch: int, first_sent_ms: int | None) -> int:
        """Return ``epoch`` if it began before the caller first sent the request, else 0.

        An epoch is at least the server's clock in ms at its start, so the store cannot have lost a request sent later.
        """
        return epoch if first_sent_ms is not None and first_sent_ms >= epoch + self.clock_difference_ms else 0


def check_deadline(request: BuildRequestRecord, deadline_ms: int | None, clock_ms: int) -> None:
    """Raise DeadlinePassed if the caller of an unrecorded request no longer waits."""
    if deadline_ms is not None and clock_ms > deadline_ms:
        raise errors.DeadlinePassed(request_id=request.request_id, late=(clock_ms - deadline_ms) / 1000)


class LeaseLost(Exception):
    """Raised when another conductor has taken over the request; nothing was changed."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of a write; ``stale`` has the skipped uuids, whose records had changed."""

    now_ms: int
    stale: frozenset[str] = field(default_factory=frozenset)


def make_lease_token(owner: str) -> str:
    """Return a unique token; ``owner`` only tells people who holds the lease."""
    return f"{uuid.uuid4().hex} {owner}"


def digest_project(project: str) -> str:
    """Return the digest of a project id, under which its queue and usage are stored."""
    return hashlib.sha256(project.encode()).hexdigest()[:PROJECT_DIGITS]


def make_request_key(project: str, digest: str) -> str:
    return f"{digest_project(project)}-{digest}"


def project_of(key: str) -> str:
    match = re.match(rf"([0-9a-f]{{{PROJECT_DIGITS}}})-", key)
    return match[1] if match else ""


def parse_marker(marker: str | None, items: str) -> int:
    """Return the sequence after which a page of ``items`` begins; raises InvalidRequest."""
    if marker is not None and not is_sequence(marker):
        raise errors.InvalidRequest(why=f"{marker[:40]!r} is not a marker of a page of {items}")
    return int(marker or 0)


def make_version() -> int:
    """Return a random record version; a counter would repeat numbers after lost writes."""
    return secrets.randbits(63)
