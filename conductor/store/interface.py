# SPDX-License-Identifier: Apache-2.0
"""Interface of the conductor's store, implemented in memory and on Redis."""

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

PAGE = 500  # records per page of a list, and per purge
UNLIMITED = 1 << 40  # instances
ProjectLimits = Mapping[str, Mapping[str, int]]
NO_LIMITS: ProjectLimits = MappingProxyType({})
CHUNK = MAX_INSTANCES  # records per script call: a whole request


class ConductorStore(abc.ABC):
    """Store of requests, their instances, and one queue of due work that is both timer and lease.

    Each verb is atomic, or atomic per chunk of CHUNK records. Times are the store's clock in ms. Every verb raises
    StoreUnavailable if the store does not answer.
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
        """Record a request with all its instances and make it due; return False if already recorded.

        Args:
            first_sent_ms: Caller's time of the first try; None means unknown, possibly long ago.
            deadline_ms: Unix time in ms at which the caller stops waiting.

        Raises, and records nothing: InstanceConflict (one of ``uuids`` belongs to another request); RequestTooOld (the
        request is new here and older than callers may repeat one); QuotaExceeded, Overloaded or RequestTooLarge
        (``admission`` refuses it); DeadlinePassed (``deadline_ms`` has passed).
        """

    @abc.abstractmethod
    def adopt(self, request: BuildRequestRecord, instance: InstanceRecord, amounts: Mapping[str, int]) -> bool:
        """Record a request for one running ``instance``, due for its step; return False if already recorded.

        The instance counts ``amounts`` regardless of limits, since its resources are in use. Raises InstanceConflict if
        it belongs to another request.
        """

    @abc.abstractmethod
    def take(
        self, owner: str, limit: int, max_instances: int = UNLIMITED, max_building: int = UNLIMITED
    ) -> list[RequestLease]:
        """Lease up to ``limit`` due requests to ``owner``.

        Together they have at most ``max_instances`` instances with a next step. A request that no conductor has taken
        yet waits while ``max_building`` instances are scheduled or built, unless its project has less than its equal
        share of them.

        Projects take turns, each with its longest due request. A turn costs as much as the records that it writes, so
        that projects get equal numbers of instances processed, whatever the sizes of their requests.
        """

    @abc.abstractmethod
    def load(self, lease: RequestLease) -> DueWork:
        """Return the due work of the request and renew the lease; raises LeaseLost."""

    @abc.abstractmethod
    def write(self, lease: RequestLease, instances: Sequence[InstanceRecord]) -> WriteResult:
        """Write records whose version is unchanged, with their migrations, and renew the lease.

        Raises LeaseLost, and writes nothing of that chunk, if another conductor took over the request.
        """

    @abc.abstractmethod
    def write_without_lease(
        self, instances: Sequence[InstanceRecord], *, wake: bool, limits: ProjectLimits = NO_LIMITS
    ) -> WriteResult:
        """Write reports and requested changes, as far as the record's version is unchanged.

        ``wake`` makes their requests due at once, or when their lease is released. ``limits`` is {project: limits as in
        Admission}; raises QuotaExceeded, and writes nothing of that chunk, if added amounts exceed them.
        """

    def write_changes(self, instances: Sequence[InstanceRecord]) -> frozenset[str]:
        """Write records without a lease and wake the requests that have a next step; return the stale uuids."""
        stale: frozenset[str] = frozenset()
        for wake in (False, True):
            records = [record for record in instances if (record.step != SagaStep.DONE) is wake]
            stale |= self.write_without_lease(records, wake=wake).stale if records else stale
        return stale

    @abc.abstractmethod
    def release(self, lease: RequestLease, next_ms: int | None) -> bool:
        """Release the lease; return False if it was lost.

        The request is due at ``next_ms`` (None: never), or at once if it was woken.
        """

    @abc.abstractmethod
    def get(self, uuids: Sequence[str]) -> dict[str, InstanceRecord]:
        """Return {uuid: instance} of the recorded ``uuids``."""

    @abc.abstractmethod
    def requests(self, keys: Sequence[str]) -> dict[str, BuildRequestRecord]:
        """Return {key: request} of the recorded ``keys``."""

    @abc.abstractmethod
    def page(self, marker: str | None, limit: int, *, deleted: bool) -> RecordPage[InstanceRecord]:
        """Return instances in order of creation, with deleted ones if ``deleted``; raises InvalidRequest."""

    @abc.abstractmethod
    def migrations(self, uuids: Sequence[str]) -> Mapping[str, MigrationRecord]:
        """Return {uuid: migration} of the recorded ``uuids``."""

    @abc.abstractmethod
    def page_migrations(self, marker: str | None, limit: int) -> RecordPage[MigrationRecord]:
        """Return migrations in order of creation; raises InvalidRequest for an invalid marker."""

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return {status: number of recorded instances}."""

    @abc.abstractmethod
    def usage(self, project: str) -> Mapping[str, int]:
        """Return the project's usage, with the names of Admission.

        An instance counts until it is deleted, or is in ERROR or SHELVED_OFFLOADED and its claim has ended.
        """

    @abc.abstractmethod
    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the collections ``records``, ``deleted`` (instances until their purge) and ``queue``.

        Redis adds ``keys``: all keys of the server, bounded by its memory limit.
        """

    @abc.abstractmethod
    def purge(self, limit: int = PAGE) -> int:
        """Remove at most ``limit`` deleted instances and ``limit`` ended migrations; return their number."""

    @abc.abstractmethod
    def stamps(self) -> Mapping[str, str]:
        """Return {partition: newest stamp}."""

    @abc.abstractmethod
    def keep_stamps(self, stamps: Mapping[str, str]) -> None:
        """Store {partition: stamp} unless the stored stamp is later, which is evidence of a rollback."""

    @abc.abstractmethod
    def epoch(self) -> int:
        """Return the store's epoch as of the last call; it grows whenever the store may have lost writes."""

    @abc.abstractmethod
    def check_replicas(self) -> None:
        """Raise NotReplicated if too few replicas have all writes so far."""

    @abc.abstractmethod
    def ping(self) -> None:
        """Check that the store answers."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connections; the data stays."""
