# SPDX-License-Identifier: Apache-2.0
"""Process that keeps a replica, like a scheduler worker, and records when it reached each log position."""

import contextlib
import functools
import gc
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis

from devstack.lab import partitions
from devstack.lab.processor_time import resident_kb
from devstack.lab.worker_processes import PipeEnd
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix

PARTITION = "sync"
LOG_LENGTH = 1_000_000  # nothing is trimmed during the measurement
POLL_SECONDS = 0.05  # seconds between checks of the pipe while waiting for the log
HASHES = ("providers", "used", "services", "alive", "opened")  # read by a snapshot


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """Seconds of a worker's start, its load and the load's baseline, CPU time until then, and memory in kB."""

    pid: int
    process_s: float
    processor_s: float
    load_s: float
    bare_load_s: float
    empty_kb: int
    loaded_kb: int


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """Position and monotonic time of each advance, and the table's digest and memory in kB afterwards."""

    moments: list[tuple[int, float]]
    digest: str
    resident_kb: int


def open_store(url: str) -> contextlib.AbstractContextManager[RedisStore]:
    return partitions.opened(url, PARTITION, log_length=LOG_LENGTH)


def worker_task(url: str, *, measure_baseline: bool = False) -> Callable[[PipeEnd, int], None]:
    """Return the task of workers that start now; ``measure_baseline`` also times a bare load."""
    return functools.partial(_work, url, time.monotonic(), measure_baseline)


def _work(url: str, born: float, measure_baseline: bool, pipe: PipeEnd, index: int) -> None:
    with open_store(url) as store:
        replica = Replica(store)
        gc.collect()
        empty = resident_kb("self")
        began = time.monotonic()
        replica.load()
        loaded, processor = time.monotonic(), time.process_time()
        bare = _bare_load(url) if measure_baseline else 0.0
        pipe.send(WorkerStart(os.getpid(), loaded - born, processor, loaded - began, bare, empty, resident_kb("self")))
        replica.start()
        try:
            _follow(replica, pipe)
        finally:
            replica.stop()
            replica.wait()


def _follow(replica: Replica, pipe: PipeEnd) -> None:
    """Record each advance, and answer a received position when it is reached, until the pipe is closed."""
    moments: list[tuple[int, float]] = []
    position = replica.log_position.position
    target: int | None = None
    while True:
        if replica.reach(position + 1, POLL_SECONDS):
            position = replica.log_position.position
            moments.append((position, time.monotonic()))
        if target is None and pipe.poll():
            target = pipe.recv()
        if target is not None and position >= target:
            pipe.send(ReplicaProgress(moments, digest(replica.table), resident_kb("self")))
            moments, target = [], None


def _bare_load(url: str) -> float:
    began = time.monotonic()
    with redis.Redis.from_url(url, decode_responses=True) as client:
        for word in HASHES:
            for text in client.hgetall(prefix(PARTITION) + word).values():
                json.loads(text)
    return time.monotonic() - began


def digest(table: HostTable) -> str:
    """Return a digest that is equal for tables with equal contents in any order."""
    with table.reading():  # a follower may apply entries concurrently
        return _digest(table)


def _digest(table: HostTable) -> str:
    checksum = hashlib.blake2b(digest_size=16)
    zones = {code: zone for zone, code in table.zones.items()}
    services = table.services
    for name, row in sorted((name, row) for row, name in enumerate(table.names) if table.present[row]):
        flags = [bool(flag_column[row]) for flag_column in (services.alive, services.enabled, services.opened)]
        amounts = {
            resource_class: [
                int(flag_column[row])
                for flag_column in (
                    resource.capacity,
                    resource.used,
                    resource.min_unit,
                    resource.max_unit,
                    resource.step_size,
                )
            ]
            for resource_class, resource in sorted(table.resources.items())
        }
        row_state = [name, flags, zones.get(int(table.zone[row])), sorted(table.traits.of(row)), amounts]
        checksum.update(json.dumps(row_state).encode())
    return checksum.hexdigest()
