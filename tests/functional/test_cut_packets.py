# SPDX-License-Identifier: Apache-2.0
"""Packets of claims through a network that delays or cuts them after any byte: each call gets its own claim, once."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from devstack.servers.ports import LOOPBACK
from devstack.servers.redis import RedisServer
from rpcapi import errors
from scheduler_svc.core.records import BatchAnswer
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition, intent

HOSTS = [f"h{number}" for number in range(3)]
TO_SERVER, TO_CLIENT = "requests", "answers"


class CuttingProxy:
    """Forwards connections to a server; one direction of the armed connection ends after a number of bytes.

    With ``delay_s`` it pauses there instead.
    """

    def __init__(self, target: Path, delay_s: float | None = None) -> None:
        self._target = target
        self._delay_s = delay_s
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._armed: tuple[str, int] | None = None
        self.passed = {TO_SERVER: 0, TO_CLIENT: 0}  # bytes since it was armed
        self.fired = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, direction: str, count: int) -> None:
        """Act once, when ``count`` more bytes have passed in a direction."""
        with self._lock:
            self._armed = direction, count
            self.passed = dict.fromkeys(self.passed, 0)

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._target))
                for direction, source, sink in ((TO_SERVER, client, server), (TO_CLIENT, server, client)):
                    threading.Thread(target=self._forward, args=(direction, source, sink), daemon=True).start()

    def _forward(self, direction: str, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError), closing(source), closing(sink):
            while data := source.recv(1 << 16):
                count = self._pass(direction, len(data))
                sink.sendall(data[:count])
                if count == len(data):
                    continue
                if self._delay_s is None:
                    for item in (source, sink):
                        item.shutdown(socket.SHUT_RDWR)
                    return
                time.sleep(self._delay_s)
                sink.sendall(data[count:])

    def _pass(self, direction: str, size: int) -> int:
        """Return how many of ``size`` bytes pass."""
        with self._lock:
            before = self.passed[direction]
            self.passed[direction] += size
            if self._armed is None or self._armed[0] != direction or self.passed[direction] <= self._armed[1]:
                return size
            count = self._armed[1] - before
            self._armed = None
            self.fired += 1
            return count


@pytest.fixture
def partition(redis_server: RedisServer) -> Iterator[StorePartition]:
    """A partition of hosts with room for everything."""
    partition = redis_partition(redis_server)
    for name in HOSTS:
        partition.add_host(name, amounts={"VCPU": 1 << 20, "MEMORY_MB": 1 << 30})
    yield partition
    partition.store.close()


def through(proxy: CuttingProxy, partition: StorePartition, **options: Any) -> RedisStore:
    return RedisStore(f"redis://{LOOPBACK}:{proxy.port}/0", partition.store.partition, **options)


def claim(store: RedisStore, partition: StorePartition, turn: int) -> None:
    """Prepare a packet of claims, and check that each answer is of its own consumer."""
    batches = [partition.batch(intent(f"c{turn}-{name}", name), request_id=f"r{turn}-{name}") for name in HOSTS]
    position = partition.store.snapshot().position
    outcomes, entries = store.prepare_all(batches, position)
    assert entries == partition.store.follow(position, 0)
    assert all(isinstance(outcome, BatchAnswer) and outcome.accepted for outcome in outcomes)
    assert [outcome.prepared[0].host for outcome in outcomes if isinstance(outcome, BatchAnswer)] == HOSTS


@pytest.mark.parametrize(
    ("direction", "step"),
    [
        (TO_CLIENT, 1),
        (TO_SERVER, 23),
        pytest.param(TO_SERVER, 1, marks=[pytest.mark.long, pytest.mark.timeout(3000)]),
    ],
)
def test_packet_cut_after_any_byte_is_claimed_once(
    redis_server: RedisServer, partition: StorePartition, direction: str, step: int
) -> None:
    with closing(CuttingProxy(redis_server.socket)) as proxy, closing(through(proxy, partition)) as store:
        claim(store, partition, 0)
        proxy.arm(direction, 1 << 30)
        claim(store, partition, 1)
        length = proxy.passed[direction]
        turn = 1
        for turn, count in enumerate(range(0, length, step), 2):
            proxy.arm(direction, count)
            claim(store, partition, turn)
        assert proxy.fired == turn - 1  # each cut happened, in the packet and not later
        assert partition.used("h0")["VCPU"] == turn + 1
        assert partition.store.counts()["prepared"] == (turn + 1) * len(HOSTS)
        partition.check()


def test_packet_that_comes_too_late_is_not_the_answer_to_the_next(
    redis_server: RedisServer, partition: StorePartition
) -> None:
    proxy = CuttingProxy(redis_server.socket, delay_s=1.5)
    with closing(proxy), closing(through(proxy, partition, wait_seconds=0.5)) as store:
        claim(store, partition, 0)
        for turn, count in enumerate((0, 100, 300), 1):
            proxy.arm(TO_CLIENT, count)
            with suppress(errors.StoreUnavailable):
                claim(store, partition, turn)
            claim(store, partition, turn)  # again: its claims are found
        assert proxy.fired == 3
        assert partition.store.counts()["prepared"] == 4 * len(HOSTS)
        partition.check()
