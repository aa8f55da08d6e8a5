# SPDX-License-Identifier: Apache-2.0
"""Timed calls of one server: candidates after a write, allocations, and lists. Some answers are checked."""

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from devstack.lab.placement.client import HttpClient, allocation
from devstack.lab.placement.cloud import FLAVOR
from devstack.lab.processor_time import cpu_seconds
from devstack.lab.timing import TimedCalls, timed
from rpcapi.cli.command import CommandFailed

CHECK_EACH = 1_000  # one call in this many is checked, starting with the first
Used = Callable[[str], Mapping[str, int]]


class ServerCalls:
    """Timed calls of one server over one connection; ``used`` reads a provider's usage independently."""

    def __init__(self, port: int, hosts: Sequence[str], used: Used) -> None:
        self._client = HttpClient(port)
        self._hosts = hosts
        self._used = used

    def close(self) -> None:
        self._client.close()

    def candidates(self, first: int, count: int, path: str) -> list[float]:
        """Time requests for candidates, each after a write that the answer must contain."""
        self._client.reconnect()
        seconds = []
        for number in range(first, first + count):
            host = self.claim(number)
            began = time.perf_counter()
            body = self._client.get(path)
            seconds.append(time.perf_counter() - began)
            if number % CHECK_EACH == 0:
                self._check(json.loads(body), host)
        return seconds

    def allocate(self, first: int, count: int) -> list[float]:
        self._client.reconnect()
        seconds = []
        for number in range(first, first + count):
            path, body = self._allocation(number)
            before = self._used(self._host(number)) if number % CHECK_EACH == 0 else None
            began = time.perf_counter()
            self._client.put(path, body)
            seconds.append(time.perf_counter() - began)
            if before is not None:
                self._check_used(self._host(number), {name: before[name] + amount for name, amount in FLAVOR.items()})
        return seconds

    def get(self, first: int, count: int, path: str) -> list[float]:
        return reconnecting(self._client, lambda: self._client.get(path))(first, count)

    def read(self, path: str) -> bytes:
        return self._client.get(path)

    def _host(self, number: int) -> str:
        return self._hosts[number % len(self._hosts)]

    def _allocation(self, number: int) -> tuple[str, bytes]:
        return f"/allocations/{uuid.uuid4()}", json.dumps(allocation(self._host(number), FLAVOR)).encode()

    def claim(self, number: int) -> str:
        self._client.put(*self._allocation(number))
        return self._host(number)

    def _check(
        self, answer: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]], host: str
    ) -> None:
        """Compare the written host's summary, or any summary if it has none, with the store."""
        summaries = answer["provider_summaries"]
        if not answer["allocation_requests"] or not summaries:
            raise CommandFailed("An answer has no candidates")
        provider = host if host in summaries else next(iter(summaries))
        shown = {name: amounts["used"] for name, amounts in summaries[provider]["resources"].items()}
        self._check_used(provider, shown)

    def _check_used(self, provider: str, expected: Mapping[str, int]) -> None:
        stored = {name: self._used(provider).get(name, 0) for name in expected}
        if stored != expected:
            raise CommandFailed(f"Provider {provider}: {stored} is stored, {expected} was answered")


def reconnecting(client: HttpClient, call: Callable[[], object]) -> TimedCalls:
    """Begin each block of calls with a new connection, because the server closes idle ones."""

    def repeat(first: int, count: int) -> list[float]:
        client.reconnect()
        return timed(lambda _number: call(), first, count)

    return repeat


def rate(port: int, pids: Sequence[int], hosts: Sequence[str], clients: int, seconds: float) -> dict[str, float]:
    """Let clients allocate for ``seconds``; return rates per second and server processor second, and client time."""
    stopping = threading.Event()

    def write(index: int) -> int:
        with contextlib.closing(ServerCalls(port, hosts[index::clients], lambda _provider: {})) as calls:
            count = 0
            while not stopping.is_set():
                calls.claim(count)
                count += 1
        return count

    with ThreadPoolExecutor(clients) as pool:
        server_before, client_before, began = cpu_seconds(pids), time.process_time(), time.perf_counter()
        counts = [pool.submit(write, index) for index in range(clients)]
        wait(counts, seconds, FIRST_EXCEPTION)
        stopping.set()
        total = sum(count.result() for count in counts)
        passed = time.perf_counter() - began
    return {
        "per_s": total / passed,
        "per_processor_s": total / (cpu_seconds(pids) - server_before),
        "client_us": 1e6 * (time.process_time() - client_before) / total,
    }
