# SPDX-License-Identifier: Apache-2.0
"""In-memory store with its verbs in Python and an injectable clock."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conductor.admission import UNLIMITED_ADMISSION, Admission
from conductor.store.bounds import split_deleted
from conductor.store.interface import NO_LIMITS, PAGE, UNLIMITED, ConductorStore, ProjectLimits
from conductor.store.memory_migrations import MemoryMigrations
from conductor.store.memory_queue import MemoryQueue
from conductor.store.memory_usage import check_quota, usage_of, waiting_by_project
from conductor.store.migrations import MigrationRecord
from conductor.store.records import (
    BuildRequestRecord,
    DueWork,
    InstanceRecord,
    LeaseLost,
    RecordPage,
    RequestLease,
    SagaStep,
    StoreTimeouts,
    WriteResult,
    check_deadline,
    make_lease_token,
    make_version,
    parse_marker,
    project_of,
)
from conductor.store.steady_clock import steady_clock
from rpcapi import errors
from rpcapi.bounds import CollectionSize, estimate
from rpcapi.resources.stamps import place_of
from rpcapi.resources.statuses import InstanceStatus

IN_PROGRESS = (InstanceStatus.SCHEDULING, InstanceStatus.BUILDING)


class MemoryConductorStore(ConductorStore):
    """Store with the verbs of the Lua scripts in Python, serialized by one lock."""

    def __init__(self, timeouts: StoreTimeouts | None = None, clock: Callable[[], int] = steady_clock) -> None:
        self._timeouts = timeouts or StoreTimeouts()
        self._clock = clock
        self._lock = threading.RLock()
        self._requests: dict[str, BuildRequestRecord] = {}
        self._instances: dict[str, InstanceRecord] = {}
        self._amounts: dict[str, Mapping[str, int]] = {}
        self._queue = MemoryQueue()
        self._migrations = MemoryMigrations()
        self._purge: dict[str, int] = {}
        self._stamps: dict[str, str] = {}
        self._sequence = 0
        self._epoch = clock()

    def record(
        self,
        request: BuildRequestRecord,
        uuids: Sequence[str],
        first_sent_ms: int | None = None,
        admission: Admission = UNLIMITED_ADMISSION,
        deadline_ms: int | None = None,
    ) -> bool:
        with self._lock:
            if request.key in self._requests:
                return False
            check_deadline(request, deadline_ms, self._clock())
            self._timeouts.check_age(self._clock(), first_sent_ms)
            certain_epoch = self._timeouts.certain_epoch(self._epoch, first_sent_ms)
            records = [InstanceRecord(uuid, request.key, certain_epoch=certain_epoch) for uuid in uuids]
            self._insert(request, records, admission, self._queue.new)
            return True

    def adopt(self, request: BuildRequestRecord, instance: InstanceRecord, amounts: Mapping[str, int]) -> bool:
        with self._lock:
            if request.key in self._requests:
                return False
            self._insert(request, [instance], Admission(amounts), self._queue.due)
            return True

    def _insert(
        self, request: BuildRequestRecord, records: Sequence[InstanceRecord], admission: Admission, due: dict[str, int]
    ) -> None:
        for record in records:
            if record.uuid in self._instances:
                raise errors.InstanceConflict(uuid=record.uuid, why="it belongs to another request")
        now = self._clock()
        self._admit(admission, request, len(records), now)
        self._requests[request.key] = request
        self._amounts[request.key] = admission.amounts
        for record in records:
            self._sequence += 1
            self._instances[record.uuid] = replace(
                record, version=make_version(), sequence=self._sequence, created_ms=now, updated_ms=now
            )
        due[request.key] = now

    def _admit(self, admission: Admission, request: BuildRequestRecord, count: int, now: int) -> None:
        if admission.limits:
            admission.check_quota(request.project, self.usage(request.project), count)
        if len(self._instances) + count > admission.max_backlog:
            waiting = waiting_by_project(self._instances.values())
            oldest_ms = max(0, now - min(self._queue.new.values(), default=now))
            admission.check_backlog(waiting, project_of(request.key), count, oldest_ms)

    def take(
        self, owner: str, limit: int, max_instances: int = UNLIMITED, max_building: int = UNLIMITED
    ) -> list[RequestLease]:
        with self._lock:
            now = self._clock()
            token = make_lease_token(owner)
            leases: list[RequestLease] = []
            for entry in self._queue.entries(now, lambda project: self._may_begin(project, max_building)):
                steps = len(self._pending(entry.request, with_new=entry.is_new))
                if len(leases) == limit or steps > max_instances:
                    break
                self._queue.serve(entry.project)
                if entry.is_new:
                    del self._queue.new[entry.request]
                if entry.is_new and entry.request in self._queue.leases:
                    self._queue.woken.add(entry.request)
                    continue
                max_instances -= steps
                leases.append(RequestLease(entry.request, token, entry.request in self._queue.leases, steps))
                self._queue.lease(entry.request, token, now + self._timeouts.lease_ms)
            return leases

    def _may_begin(self, project: str, max_building: int) -> bool:
        records = [record for record in self._instances.values() if record.status in IN_PROGRESS]
        begun = [project_of(record.request) for record in records if not self._is_new(record)]
        sharers = {project_of(record.request) for record in records}
        return len(begun) < max_building or begun.count(project) < max_building / len(sharers)

    def _is_new(self, record: InstanceRecord) -> bool:
        return record.request in self._queue.new and record.step == SagaStep.SELECT

    def _pending(self, request: str, *, with_new: bool = False) -> list[InstanceRecord]:
        return [
            record
            for record in self._instances.values()
            if record.request == request and record.step != SagaStep.DONE and (with_new or not self._is_new(record))
        ]

    def load(self, lease: RequestLease) -> DueWork:
        with self._lock:
            self._renew(lease)
            now = self._clock()
            open_records = self._pending(lease.request)
            due = sorted((record for record in open_records if record.wake_ms <= now), key=lambda record: record.uuid)
            later = [record.wake_ms for record in open_records if record.wake_ms > now]
            may_repeat = now < self._epoch + self._timeouts.repeat_horizon_ms
            return DueWork(
                self._requests[lease.request], due, now, min(later, default=None), self._epoch, may_repeat=may_repeat
            )

    def write(self, lease: RequestLease, instances: Sequence[InstanceRecord]) -> WriteResult:
        with self._lock:
            self._renew(lease)
            self._queue.charge(project_of(lease.request), len(instances))
            return self._write(instances)

    def write_without_lease(
        self, instances: Sequence[InstanceRecord], *, wake: bool, limits: ProjectLimits = NO_LIMITS
    ) -> WriteResult:
        with self._lock:
            for project, project_limits in limits.items():
                check_quota(project, project_limits, instances, self._instances, self._amounts)
            result = self._write(instances)
            woken = [record for record in instances if record.uuid not in result.stale] if wake else []
            for key in dict.fromkeys(record.request for record in woken):
                self._queue.wake(key, result.now_ms)
            return result

    def _renew(self, lease: RequestLease) -> None:
        if self._queue.leases.get(lease.request) != lease.token:
            raise LeaseLost(lease.request)
        self._queue.due[lease.request] = self._clock() + self._timeouts.lease_ms

    def _write(self, instances: Sequence[InstanceRecord]) -> WriteResult:
        now = self._clock()
        stale = set()
        for record in instances:
            old = self._instances.get(record.uuid)
            if old is None or old.version != record.version:
                stale.add(record.uuid)
                continue
            if record.status == InstanceStatus.DELETED and old.status != InstanceStatus.DELETED:
                self._purge[record.uuid] = now + self._timeouts.retention_ms
            self._instances[record.uuid] = replace(
                record,
                request=old.request,
                version=make_version(),
                sequence=old.sequence,
                created_ms=old.created_ms,
                updated_ms=now,
            )
            if record.migration is not None:
                self._sequence += 1
                self._migrations.keep(record.migration, self._sequence, now, self._timeouts.retention_ms)
            if old.request in self._queue.new and not any(
                other.request == old.request and self._is_new(other) for other in self._instances.values()
            ):
                del self._queue.new[old.request]
        return WriteResult(now, frozenset(stale))

    def release(self, lease: RequestLease, next_ms: int | None) -> bool:
        with self._lock:
            if self._queue.leases.get(lease.request) != lease.token:
                return False
            self._queue.release(lease.request, next_ms, self._clock())
            return True

    def get(self, uuids: Sequence[str]) -> dict[str, InstanceRecord]:
        with self._lock:
            return {uuid: self._instances[uuid] for uuid in uuids if uuid in self._instances}

    def requests(self, keys: Sequence[str]) -> dict[str, BuildRequestRecord]:
        with self._lock:
            return {key: self._requests[key] for key in keys if key in self._requests}

    def page(self, marker: str | None, limit: int, *, deleted: bool) -> RecordPage[InstanceRecord]:
        after, limit = parse_marker(marker, "instances"), min(limit, PAGE)
        with self._lock:
            rows = sorted(self._instances.values(), key=lambda record: record.sequence)
            records_after = [record for record in rows if record.sequence > after]
            page_records = [record for record in records_after if deleted or record.status != InstanceStatus.DELETED][
                :limit
            ]
            return RecordPage(page_records, str(page_records[-1].sequence) if len(page_records) == limit else None)

    def migrations(self, uuids: Sequence[str]) -> Mapping[str, MigrationRecord]:
        with self._lock:
            return self._migrations.get(uuids)

    def page_migrations(self, marker: str | None, limit: int) -> RecordPage[MigrationRecord]:
        after = parse_marker(marker, "migrations")
        with self._lock:
            return self._migrations.page(after, min(limit, PAGE))

    def counts(self) -> Mapping[str, int]:
        with self._lock:
            return Counter(str(record.status) for record in self._instances.values())

    def usage(self, project: str) -> Mapping[str, int]:
        with self._lock:
            return usage_of(project, self._instances.values(), self._amounts)

    def sizes(self) -> Mapping[str, CollectionSize]:
        with self._lock:
            return split_deleted(
                estimate(self._instances),
                estimate(self._requests, self._migrations.records).bytes,
                estimate({**self._queue.new, **self._queue.due}, self._queue.leases, dict.fromkeys(self._queue.woken)),
                estimate(self._purge),
            )

    def purge(self, limit: int = PAGE) -> int:
        with self._lock:
            expired = sorted((at, uuid) for uuid, at in self._purge.items() if at <= self._clock())[:limit]
            for _, uuid in expired:
                key = self._instances.pop(uuid).request
                del self._purge[uuid]
                if not any(record.request == key for record in self._instances.values()):
                    del self._requests[key]
                    del self._amounts[key]
                    self._queue.remove(key)
            return len(expired) + self._migrations.purge(self._clock(), limit)

    def stamps(self) -> Mapping[str, str]:
        with self._lock:
            return dict(self._stamps)

    def keep_stamps(self, stamps: Mapping[str, str]) -> None:
        with self._lock:
            for partition, stamp in stamps.items():
                if place_of(stamp) > place_of(self._stamps.get(partition)):
                    self._stamps[partition] = stamp

    def begin_epoch(self) -> None:
        """Begin an epoch, as after lost writes; for tests."""
        with self._lock:
            self._epoch = max(self._epoch + 1, self._clock())

    def next_due(self) -> int | None:
        """Return when the first request is due; tests advance their clock to it."""
        with self._lock:
            return self._queue.next_due()

    def epoch(self) -> int:
        return self._epoch

    def check_replicas(self) -> None:
        """Do nothing: memory has no replicas."""

    def ping(self) -> None:
        """Do nothing: memory is always available."""

    def close(self) -> None:
        """Do nothing: memory has no connections."""
