# SPDX-License-Identifier: Apache-2.0
"""The store in memory: the same verbs in plain Python, on a clock that a test can turn."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conductor.store.interface import PAGE, Store
from conductor.store.records import (
    Instance,
    Lease,
    LeaseLost,
    Page,
    Request,
    Status,
    Step,
    Terms,
    Work,
    Written,
)
from rpcapi import errors


def wall_clock() -> int:
    """Return Unix time in milliseconds."""
    return int(time.time() * 1000)


class MemoryStore(Store):
    """What the scripts do, one verb at a time under one lock."""

    def __init__(self, terms: Terms | None = None, clock: Callable[[], int] = wall_clock) -> None:
        self._terms = terms or Terms()
        self._clock = clock
        self._lock = threading.RLock()
        self._requests: dict[str, Request] = {}
        self._instances: dict[str, Instance] = {}
        self._due: dict[str, int] = {}
        self._leases: dict[str, str] = {}
        self._woken: set[str] = set()
        self._purge: dict[str, int] = {}
        self._sequence = 0
        self._last_lease = 0

    def record(self, request: Request, uuids: Sequence[str]) -> bool:
        with self._lock:
            if request.key in self._requests:
                return False
            for uuid in uuids:
                if uuid in self._instances:
                    raise errors.InstanceConflict(uuid=uuid, why="it belongs to another request")
            now = self._clock()
            self._requests[request.key] = request
            for uuid in uuids:
                self._sequence += 1
                self._instances[uuid] = Instance(
                    uuid, request.key, sequence=self._sequence, created_ms=now, updated_ms=now
                )
            self._due[request.key] = now
            return True

    def take(self, owner: str, limit: int) -> list[Lease]:
        with self._lock:
            now = self._clock()
            due = sorted((at, key) for key, at in self._due.items() if at <= now)[:limit]
            taken = []
            for _, key in due:
                self._last_lease += 1
                token = f"{self._last_lease} {owner}"
                taken.append(Lease(key, token, key in self._leases))
                self._leases[key] = token
                self._due[key] = now + self._terms.lease_ms
                self._woken.discard(key)
            return taken

    def load(self, lease: Lease) -> Work:
        with self._lock:
            self._renew(lease)
            now = self._clock()
            mine = [
                each for each in self._instances.values() if each.request == lease.request and each.step != Step.DONE
            ]
            due = sorted((each for each in mine if each.wake_ms <= now), key=lambda each: each.uuid)
            later = [each.wake_ms for each in mine if each.wake_ms > now]
            return Work(self._requests[lease.request], due, now, min(later, default=None))

    def write(self, lease: Lease, instances: Sequence[Instance]) -> Written:
        with self._lock:
            self._renew(lease)
            return self._write(instances)

    def note(self, instances: Sequence[Instance], *, wake: bool) -> Written:
        with self._lock:
            written = self._write(instances)
            for key in {each.request for each in instances if each.uuid not in written.stale} if wake else ():
                if key in self._leases:
                    self._woken.add(key)
                else:
                    self._due[key] = min(self._due.get(key, written.now_ms), written.now_ms)
            return written

    def _renew(self, lease: Lease) -> None:
        if self._leases.get(lease.request) != lease.token or lease.request not in self._requests:
            raise LeaseLost(lease.request)
        self._due[lease.request] = self._clock() + self._terms.lease_ms

    def _write(self, instances: Sequence[Instance]) -> Written:
        now = self._clock()
        stale = set()
        for each in instances:
            old = self._instances.get(each.uuid)
            if old is None or old.version != each.version:
                stale.add(each.uuid)
                continue
            if each.status == Status.DELETED and old.status != Status.DELETED:
                self._purge[each.uuid] = now + self._terms.retention_ms
            self._instances[each.uuid] = replace(
                each,
                request=old.request,
                version=old.version + 1,
                sequence=old.sequence,
                created_ms=old.created_ms,
                updated_ms=now,
            )
        return Written(now, frozenset(stale))

    def release(self, lease: Lease, next_ms: int | None) -> bool:
        with self._lock:
            if self._leases.get(lease.request) != lease.token:
                return False
            del self._leases[lease.request]
            if lease.request in self._woken:
                self._woken.discard(lease.request)
                self._due[lease.request] = self._clock()
            elif next_ms is None:
                self._due.pop(lease.request, None)
            else:
                self._due[lease.request] = next_ms
            return True

    def get(self, uuids: Sequence[str]) -> dict[str, Instance]:
        with self._lock:
            return {uuid: self._instances[uuid] for uuid in uuids if uuid in self._instances}

    def requests(self, keys: Sequence[str]) -> dict[str, Request]:
        with self._lock:
            return {key: self._requests[key] for key in keys if key in self._requests}

    def page(self, marker: str | None, limit: int, *, deleted: bool) -> Page:
        if marker is not None and not marker.isdecimal():
            raise errors.InvalidRequest(why=f"{marker[:40]!r} is no marker of a page of instances")
        limit = min(limit, PAGE)
        with self._lock:
            rows = sorted(self._instances.values(), key=lambda each: each.sequence)
            shown = [each for each in rows if each.sequence > int(marker or 0)]
            found = [each for each in shown if deleted or each.status != Status.DELETED][:limit]
            return Page(found, str(found[-1].sequence) if len(found) == limit else None)

    def counts(self) -> Mapping[str, int]:
        with self._lock:
            return Counter(str(each.status) for each in self._instances.values())

    def purge(self, limit: int = PAGE) -> int:
        with self._lock:
            over = sorted((at, uuid) for uuid, at in self._purge.items() if at <= self._clock())[:limit]
            for _, uuid in over:
                key = self._instances.pop(uuid).request
                del self._purge[uuid]
                if not any(each.request == key for each in self._instances.values()):
                    del self._requests[key]
                    self._due.pop(key, None)
            return len(over)

    def next_due(self) -> int | None:
        """Return when the first request is due, for a test that lets just so much time pass."""
        with self._lock:
            return min(self._due.values(), default=None)

    def ping(self) -> None:
        """Always there."""

    def close(self) -> None:
        """Nothing to let go of."""
