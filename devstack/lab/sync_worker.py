# SPDX-License-Identifier: Apache-2.0
"""One process that keeps a replica, as a scheduler worker does, and notes when it had taken over what."""

import functools
import gc
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import redis

from devstack.lab.crew import Line
from devstack.lab.sync_table import digest
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix

PARTITION = "sync"
LOG_LENGTH = 1_000_000  # nothing is trimmed while the lab runs: a gap would be another question
TURN = 0.05  # seconds after which a process that waits for the log looks whether it was asked something
HASHES = ("providers", "used", "services", "alive", "opened")  # what a snapshot reads


@dataclass(frozen=True, slots=True)
class Started:
    """How a worker started: seconds since its process was begun, for the load, for the floor of it; kB it then held.

    ``processor_s`` is what its process had taken of a processor by then: neighbours change it less than the rest.
    """

    pid: int
    process_s: float
    processor_s: float
    load_s: float
    bare_s: float
    empty_kb: int
    loaded_kb: int


@dataclass(frozen=True, slots=True)
class Seen:
    """When which position was reached, on the machine's monotonic clock; what the table is then, and the kB held."""

    moments: list[tuple[int, float]]
    digest: str
    resident_kb: int


def open_store(url: str) -> RedisStore:
    """Open the measured partition."""
    store = RedisStore(url, PARTITION, log_length=LOG_LENGTH)
    store.check_identity()
    return store


def starting(url: str, *, floor: bool = False) -> Callable[[Line, int], None]:
    """Return the task of workers that are begun now; with ``floor`` they measure that of a start, too."""
    return functools.partial(_work, url, time.monotonic(), floor)


def _work(url: str, born: float, floor: bool, line: Line, index: int) -> None:
    """Run in a worker: tell how the start went, follow the log, and tell what was seen whenever asked."""
    store = open_store(url)
    replica = Replica(store)
    gc.collect()
    empty = _resident_kb()
    began = time.monotonic()
    replica.load()
    loaded, processor = time.monotonic(), time.process_time()
    bare = _bare_load(url) if floor else 0.0
    line.send(Started(os.getpid(), loaded - born, processor, loaded - began, bare, empty, _resident_kb()))
    replica.start()
    try:
        _follow(replica, line)
    finally:
        replica.stop()
        replica.wait()
        store.close()


def _follow(replica: Replica, line: Line) -> None:
    """Note each advance; asked with a position, answer when that is reached, until the other end is closed."""
    moments: list[tuple[int, float]] = []
    position = replica.standing.position
    wanted: int | None = None
    while True:
        if replica.reach(position + 1, TURN):
            position = replica.standing.position
            moments.append((position, time.monotonic()))
        if wanted is None and line.poll():
            wanted = line.recv()
        if wanted is not None and position >= wanted:
            line.send(Seen(moments, digest(replica.table), _resident_kb()))
            moments, wanted = [], None


def _bare_load(url: str) -> float:
    """Return the seconds that it takes to read a snapshot's hashes and decode their texts, and no more."""
    began = time.monotonic()
    with redis.Redis.from_url(url, decode_responses=True) as client:
        for word in HASHES:
            for text in client.hgetall(prefix(PARTITION) + word).values():
                json.loads(text)
    return time.monotonic() - began


def _resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024
