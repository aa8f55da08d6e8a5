# SPDX-License-Identifier: Apache-2.0
"""The interface of the conductor's store; memory and Redis implement it."""

import abc
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from conductor.admission import UNLIMITED_ADMISSION, Admission
from conductor.store.migrations import MigrationRecord
from conductor.store.records import (
    BuildRequestRecord,
    DueWork,
    InstanceRecord,
    RecordPage,
    RequestLease,
    SagaStep,
    WriteResult,
)
from rpcapi.bounds import CollectionSize
from rpcapi.resources.claims import MAX_INSTANCES

PAGE = 500  # maximum number of records in a page of a list, and of one purge
UNLIMITED = 1 << 40  # instances
ProjectLimits = Mapping[str, Mapping[str, int]]
NO_LIMITS: ProjectLimits = MappingProxyType({})
CHUNK = MAX_INSTANCES  # maximum number of records that one script reads or writes: a whole request


class ConductorStore(abc.ABC):
    """Requests, their instances, and one queue of due work that serves as timer and lease.

    Each verb is atomic; a larger one is atomic for each chunk of CHUNK records. Times are the store's clock. Every verb
    raises StoreUnavailable when the store does not answer.
    """

    @abc.abstractmethod
    def record(
        self,
        request: BuildRequestRecord,
        uuids: Sequence[str],
        first_sent_ms: int | None = None,
        admission: Admission = UNLIMITED_ADMISSION,
        deadline_ms: int | None = None,
    ) -> bool:
        """Record a request with all its instances, or nothing, and make it due; False if it was already recorded.

        ``first_sent_ms`` is when the caller first sent it, by the caller's clock (None: unknown, possibly long ago).
        Raises InstanceConflict when one of ``uuids`` belongs to another request, and RequestTooOld for a request that
        is not recorded and was first sent longer ago than callers may repeat one, QuotaExceeded, Overloaded,
        RequestTooLarge, or DeadlinePassed after ``deadline_ms``, the Unix time when the caller ceases to wait.
        """

    @abc.abstractmethod
    def adopt(self, request: BuildRequestRecord, instance: InstanceRecord, amounts: Mapping[str, int]) -> bool:
        """Record a request of one ``instance`` that runs already, due for its step; False if the request is recorded.

        It counts ``amounts``, but no limit refuses it: its resources are in use. Raises InstanceConflict when the
        instance belongs to another request.
        """

    @abc.abstractmethod
    def take(
        self, owner: str, limit: int, max_instances: int = UNLIMITED, max_building: int = UNLIMITED
    ) -> list[RequestLease]:
        """Lease up to ``limit`` due requests to ``owner``; all together have at most ``max_instances`` steps to take.

        A request that no conductor has taken yet waits while ``max_building`` instances of such as have been taken are
        scheduled or built, unless its project has less than its equal share of them.

        Projects take turns, each with its longest due request. A turn costs about as much as it writes records, so
        that projects with due work get equal numbers of instances processed, whatever the sizes of their requests.
        """

    @abc.abstractmethod
    def load(self, lease: RequestLease) -> DueWork:
        """Return the due work of the request, and renew the lease; raises LeaseLost."""

    @abc.abstractmethod
    def write(self, lease: RequestLease, instances: Sequence[InstanceRecord]) -> WriteResult:
        """Write records, each only where its version is still the recorded one, and renew the lease.

        The record of an instance's migration is written with it.

        Raises LeaseLost if another conductor has taken over the request; then nothing of that chunk is written.
        """

    @abc.abstractmethod
    def write_without_lease(
        self, instances: Sequence[InstanceRecord], *, wake: bool, limits: ProjectLimits = NO_LIMITS
    ) -> WriteResult:
        """Write records as ``write`` does, but without a lease: a reported outcome, or a deletion.

        ``wake`` makes their requests due at once, or as soon as the current holder releases them. ``limits`` has those
        of projects, by name as in Admission: raises QuotaExceeded where what records count more exceeds one; then
        nothing of that chunk is written.
        """

    def write_changes(self, instances: Sequence[InstanceRecord]) -> frozenset[str]:
        """Write records without a lease, and wake the requests of those with a next step; return what is stale."""
        stale: frozenset[str] = frozenset()
        for wake in (False, True):
            records = [record for record in instances if (record.step != SagaStep.DONE) is wake]
            stale |= self.write_without_lease(records, wake=wake).stale if records else stale
        return stale

    @abc.abstractmethod
    def release(self, lease: RequestLease, next_ms: int | None) -> bool:
        """Release the lease; the request is due again at ``next_ms``, or at once if it was woken meanwhile.

        ``next_ms`` None: no step remains. Returns False if the lease was already lost.
        """

    @abc.abstractmethod
    def get(self, uuids: Sequence[str]) -> dict[str, InstanceRecord]:
        """Return the recorded instances among ``uuids``."""

    @abc.abstractmethod
    def requests(self, keys: Sequence[str]) -> dict[str, BuildRequestRecord]:
        """Return the recorded requests among ``keys``."""

    @abc.abstractmethod
    def page(self, marker: str | None, limit: int, *, deleted: bool) -> RecordPage[InstanceRecord]:
        """Return instances in the order of their creation, deleted ones only if ``deleted``.

        Raises InvalidRequest for an invalid marker.
        """

    @abc.abstractmethod
    def migrations(self, uuids: Sequence[str]) -> Mapping[str, MigrationRecord]:
        """Return the recorded migrations among ``uuids``."""

    @abc.abstractmethod
    def page_migrations(self, marker: str | None, limit: int) -> RecordPage[MigrationRecord]:
        """Return migrations in the order of their creation; raises InvalidRequest for an invalid marker."""

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return the number of recorded instances by status."""

    @abc.abstractmethod
    def usage(self, project: str) -> Mapping[str, int]:
        """Return what the project uses of each name that is counted: see Admission.

        An instance counts until it is deleted, or is in ERROR or SHELVED_OFFLOADED and its claim has ended.
        """

    @abc.abstractmethod
    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the collections: ``records``, ``deleted`` instances until they are purged, ``queue`` of due work.

        Redis: beside them ``keys``, all of the server, whose bound is the memory that it may use.
        """

    @abc.abstractmethod
    def purge(self, limit: int = PAGE) -> int:
        """Remove deleted instances and ended migrations whose retention has passed; return their number.

        At most ``limit`` of each.
        """

    @abc.abstractmethod
    def stamps(self) -> Mapping[str, str]:
        """Return the newest stamp of each partition that had any."""

    @abc.abstractmethod
    def keep_stamps(self, stamps: Mapping[str, str]) -> None:
        """Store stamps by partition, each unless the stored one is later: that one is evidence of a rollback."""

    @abc.abstractmethod
    def epoch(self) -> int:
        """The store's epoch, as of the last call: it grows whenever the store may have forgotten something."""

    @abc.abstractmethod
    def check_replicas(self) -> None:
        """Raise NotReplicated where too few replicas have all writes so far."""

    @abc.abstractmethod
    def ping(self) -> None:
        """Check that the store answers."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connections; the stored data stays."""
