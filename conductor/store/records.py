# SPDX-License-Identifier: Apache-2.0
"""Records of the conductor's store: plain frozen dataclasses."""

import hashlib
import re
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from conductor.store.migrations import MigrationKind, MigrationRecord, MigrationStatus
from rpcapi import errors
from rpcapi.validation.text import is_sequence

Record = TypeVar("Record")

PROJECT_DIGITS = 16  # of the digest of a project
SCHEMA = 1  # version of every stored document; documents of another version are rejected


class InstanceStatus(StrEnum):
    """The status of an instance, as users see it."""

    SCHEDULING = "SCHEDULING"
    BUILDING = "BUILDING"
    ACTIVE = "ACTIVE"
    STOPPING = "STOPPING"
    SHUTOFF = "SHUTOFF"  # powered off; its host keeps its disk, and it keeps its claim
    STARTING = "STARTING"
    REBOOT = "REBOOT"
    HARD_REBOOT = "HARD_REBOOT"
    REBUILD = "REBUILD"  # its host replaces its disk
    SHELVING = "SHELVING"
    SHELVED = "SHELVED"  # powered off, and its disk is stored as an image; its host keeps it until it is offloaded
    OFFLOADING = "OFFLOADING"
    SHELVED_OFFLOADED = "SHELVED_OFFLOADED"  # only its image is stored: it has no host and no claim
    UNSHELVING = "UNSHELVING"
    RESIZE = "RESIZE"  # a cold migration or a resize is under way; its guest is stopped on the way
    VERIFY_RESIZE = "VERIFY_RESIZE"  # it is at its destination; the source is kept until confirm or revert
    REVERT_RESIZE = "REVERT_RESIZE"
    MIGRATING = "MIGRATING"  # a live migration is under way
    ERROR = "ERROR"
    DELETING = "DELETING"
    DELETED = "DELETED"


# The instance is on the host of its record, under a confirmed claim.
ON_HOST = frozenset(
    {
        *(InstanceStatus.ACTIVE, InstanceStatus.STOPPING, InstanceStatus.SHUTOFF, InstanceStatus.STARTING),
        *(InstanceStatus.REBOOT, InstanceStatus.HARD_REBOOT, InstanceStatus.REBUILD),
        *(InstanceStatus.SHELVING, InstanceStatus.SHELVED, InstanceStatus.VERIFY_RESIZE),
    }
)


# Without a next step, the instance has no claim, and counts for no quota; store/lua/_usage.lua names the same.
WITHOUT_CLAIM = frozenset({InstanceStatus.ERROR, InstanceStatus.SHELVED_OFFLOADED})


class SagaStep(StrEnum):
    """The next saga step of an instance; the holder of the request's lease executes it."""

    SELECT = "select"  # ask the scheduler for hosts
    CAST = "cast"  # send the build message to the host
    WAIT = "wait"  # wait for the host's report; send the build again at intervals, finally try an alternate
    ALTERNATE = "alternate"  # end this attempt and prepare the next on an alternate
    SETTLE = "settle"  # read the claim: record and claim have diverged
    ABORT = "abort"  # abort the claim, unless it is confirmed
    POWER = "power"  # request the host to stop, start, reboot or rebuild the guest until it reports that it did
    OFFLOAD = "offload"  # wait for [conductor] shelved_offload_time, then end the claim of the shelved instance
    UNSHELVE = "unshelve"  # ask the scheduler for a host of one instance
    EVACUATE = "evacuate"  # the same for an instance whose host is gone
    TERMINATE = "terminate"  # send terminate to the host until it reports that the guest is gone
    BEGIN_MOVE = "begin_move"  # make the claim of a moving instance the source of its migration
    DESTINATION = "destination"  # ask the scheduler for a destination of one moving instance
    STOP_SOURCE = "stop_source"  # request the source of a move to stop the guest until it reports that it did
    VERIFY = "verify"  # wait for confirm or revert, at most [conductor] resize_confirm_window
    PREPARE_COPY = "prepare_copy"  # check both ends of a live migration, then have its destination receive the guest
    COPY = "copy"  # request the source of a live migration to copy the guest until it reports the end of that
    SWITCH = "switch"  # request the destination to run the copied guest until it reports that it does
    END_SOURCE = "end_source"  # request the source of a move to remove the guest until it reports that it did
    END_MOVE = "end_move"  # make the claim on the source the only one of the instance again
    STOP_DESTINATION = "stop_destination"  # of a revert: request it to stop the guest until it reports that it did
    RESUME = "resume"  # request the source to continue the guest, until it reports that it did
    DONE = "done"  # nothing


@dataclass(frozen=True, slots=True)
class BuildRequestRecord:
    """One call of build_instances. ``key`` is its identity: a repeated call has the same key.

    ``spec`` is the primitive of the versioned RequestSpec. ``names`` has the display names of instances by uuid.
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
        last_attempt: Higher attempt number, used before the instance returned to the source of a move; 0 if none.
        allocations: {provider: {class: amount}} of the claim; None means the request's resources on ``host``.
        partition, epoch, position: Replica state of the decision that produced ``alternates``.
        history: One {attempt, host, outcome, reason} per ended attempt.
        asked: Whether the build was sent again to a host that confirmed the claim but did not report in time.
        tries: Consecutive failures of ``step``.
        since_ms: Start of the current wait; 0 if not waiting.
        certain_epoch: Epoch of this store in which the record is certain to name every attempt that a host may run; 0
            if none.
        migration: Current or last migration. The store writes its record together with the record of the instance.
        operation: Number of the reboot or rebuild in progress; 0 if none.
        is_shelved: Whether the image is stored and the instance has not run since. A shelved instance without a claim
            is SHELVED_OFFLOADED.
        was_stopped: Whether the instance was powered off before its host lost it or its rebuild began.
        target: Only host on which the instance may be unshelved.
        spec, flavor, amounts: RequestSpec primitive, flavor and quota amounts after a resize; None means the values of
            the request.
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
        """Whether the instance counts for the quota of its project: it has resources, or may have."""
        has_ended = self.status in WITHOUT_CLAIM and self.step == SagaStep.DONE
        return self.status != InstanceStatus.DELETED and not has_ended

    @property
    def open_migration(self) -> MigrationRecord | None:
        """The migration that holds the claim on its source, or is to get it; None if there is none."""
        migration = self._migration_under_way
        return None if migration is None or migration.kind == MigrationKind.EVACUATION else migration

    @property
    def evacuation(self) -> MigrationRecord | None:
        """The evacuation that is under way, which holds no claim; None if there is none."""
        migration = self._migration_under_way
        return migration if migration is not None and migration.kind == MigrationKind.EVACUATION else None

    @property
    def _migration_under_way(self) -> MigrationRecord | None:
        return None if self.migration is None or self.migration.has_ended else self.migration

    @property
    def move(self) -> MigrationRecord:
        """The open migration of an instance that has one; raises ValueError without one."""
        if self.open_migration is None:
            raise ValueError(f"instance {self.uuid} has no open migration")
        return self.open_migration

    @property
    def is_at_source(self) -> bool:
        """Whether its own claim is that on the source of its move: before the move begins, and after it is undone."""
        return self.open_migration is not None and self.attempt == self.open_migration.source_attempt

    @property
    def shown_status(self) -> InstanceStatus:
        """The status that users see: as in Nova, one that is built anew by an evacuation is in REBUILD."""
        is_rebuilt = self.status == InstanceStatus.BUILDING and self.evacuation is not None
        return InstanceStatus.REBUILD if is_rebuilt else self.status

    @property
    def guest_host(self) -> str | None:
        """The resource name where its guest is: the source's until it is stopped there, and again after its return."""
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
        """Number of the next attempt: higher than all before."""
        return self.transition_number + 1

    @property
    def transition_number(self) -> int:
        """Number of messages that change its guest: the highest attempt so far, since each move has later ones."""
        return max(self.attempt, self.last_attempt)

    @property
    def builds(self) -> int:
        """Number of attempts that a host may have been requested to build: the ended ones, and the current one."""
        return len(self.history) + (not self.has_ended(self.attempt))

    def has_ended(self, attempt: int) -> bool:
        """Return whether the history contains the end of that attempt."""
        return any(entry["attempt"] == attempt for entry in self.history)


class RequestLease(NamedTuple):
    """The exclusive right to process a request's instances.

    ``token`` is random, so that it never repeats, also in a store that lost its last seconds. ``is_takeover``: the
    previous holder never released the lease. ``steps`` is the number of instances that had a step to take.
    """

    request: str
    token: str
    is_takeover: bool = False
    steps: int = 0


@dataclass(frozen=True, slots=True)
class DueWork:
    """The due work of a leased request.

    ``instances`` are those with a step due at ``now_ms``; ``next_ms`` is when the next of the other instances is due
    (None: no other instance has a step). ``epoch`` is the store's; ``may_repeat``: callers may still be repeating
    requests that the store had forgotten when the epoch began.
    """

    request: BuildRequestRecord
    instances: Sequence[InstanceRecord]
    now_ms: int
    next_ms: int | None
    epoch: int = 0
    may_repeat: bool = True


@dataclass(frozen=True, slots=True)
class RecordPage(Generic[Record]):
    """A page of instances or migrations, oldest first; ``marker`` is None on the last page.

    ``unreadable`` has those whose documents a newer release wrote: what can be shown of each, with stored words instead
    of statuses and kinds, and the reason why the document cannot be read.
    """

    records: Sequence[Record]
    marker: str | None
    unreadable: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """Times in milliseconds.

    A step of the server's clock advances the store's time by at most ``max_step_ms``. A lease that is not renewed
    expires after ``lease_ms``. The record of a deleted instance is removed after ``retention_ms``; until then a delayed
    duplicate of its request cannot build it again. Callers may repeat a request for ``repeat_horizon_ms``. Their clocks
    and the store's differ by at most ``clock_difference_ms``.
    """

    lease_ms: int = 30_000
    retention_ms: int = 86_400_000
    max_step_ms: int = 15_000
    repeat_horizon_ms: int = 900_000
    clock_difference_ms: int = 2_000

    def check_age(self, clock_ms: int, first_sent_ms: int | None) -> None:
        """Raise RequestTooOld for a request that is not recorded and was first sent too long before ``clock_ms``."""
        age_ms = 0 if first_sent_ms is None else clock_ms - first_sent_ms
        if age_ms > self.repeat_horizon_ms:
            raise errors.RequestTooOld(age_s=age_ms / 1000, horizon_s=self.repeat_horizon_ms / 1000)

    def certain_epoch(self, epoch: int, first_sent_ms: int | None) -> int:
        """Return ``epoch`` if it began before the caller first sent the request, else 0.

        An epoch is not below the server's clock in ms at its begin. A request that was first sent after it is none that
        the store has forgotten.
        """
        return epoch if first_sent_ms is not None and first_sent_ms >= epoch + self.clock_difference_ms else 0


def check_deadline(request: BuildRequestRecord, deadline_ms: int | None, clock_ms: int) -> None:
    """Raise DeadlinePassed for a request that is not recorded, and whose caller has ceased to wait."""
    if deadline_ms is not None and clock_ms > deadline_ms:
        raise errors.DeadlinePassed(request_id=request.request_id, late=(clock_ms - deadline_ms) / 1000)


class LeaseLost(Exception):
    """Raised when another conductor has taken over the request; nothing was changed."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write: ``stale`` has the uuids that were skipped because their record had changed."""

    now_ms: int
    stale: frozenset[str] = field(default_factory=frozenset)


def make_lease_token(owner: str) -> str:
    """Return a token that no other call returns; ``owner`` only shows who holds a stored lease."""
    return f"{uuid.uuid4().hex} {owner}"


def digest_project(project: str) -> str:
    """Return the digest of a project, by which the store queues its requests and counts its usage."""
    return hashlib.sha256(project.encode()).hexdigest()[:PROJECT_DIGITS]


def make_request_key(project: str, digest: str) -> str:
    """Return the key of a request: the digest of its project, and that of the request."""
    return f"{digest_project(project)}-{digest}"


def project_of(key: str) -> str:
    """Return the digest of the project in the key of a request; '' for a key without one."""
    match = re.match(rf"([0-9a-f]{{{PROJECT_DIGITS}}})-", key)
    return match[1] if match else ""


def parse_marker(marker: str | None, items: str) -> int:
    """Return the sequence after which a page of ``items`` begins; raises InvalidRequest for an invalid marker."""
    if marker is not None and not is_sequence(marker):
        raise errors.InvalidRequest(why=f"{marker[:40]!r} is not a marker of a page of {items}")
    return int(marker or 0)


def make_version() -> int:
    """Return a record version that no other write has: counted ones would repeat after a write was forgotten."""
    return secrets.randbits(63)
