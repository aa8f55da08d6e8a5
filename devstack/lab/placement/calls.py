# SPDX-License-Identifier: Apache-2.0
"""Timed calls of one server: candidates after a write, allocations, and lists. Some answers are checked."""

import contextlib
import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from devstack.lab.placement.cloud import FLAVOR
from devstack.lab.processor_time import cpu_seconds
from devstack.lab.timing import TimedCalls, timed
from rpcapi.cli.command import CommandFailed

SECONDS = 600.0  # Placement needs half a minute for some requests
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
END_OF_HEAD = b"\r\n\r\n"
CHUNK = 2**18
NO_CONTENT = 204


class RequestFailed(CommandFailed):
    """Raised when a request fails or gets no answer; the message has the status and the body."""


class HttpClient:
    """Administrator's open connection to 127.0.0.1, for one thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._connect()
        self._head = (
            f"Host: 127.0.0.1:{port}\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n"
            "Accept: application/json\r\n"
        ).encode()

    def get(self, path: str) -> bytes:
        return self._exchange(b"GET %s HTTP/1.1\r\n%s\r\n" % (path.encode(), self._head), 200)

    def put(self, path: str, body: bytes) -> None:
        length = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self._exchange(b"PUT %s HTTP/1.1\r\n%s%s%s" % (path.encode(), self._head, length, body), NO_CONTENT)

    def reconnect(self) -> None:
        """Replace the connection, because the server may have closed it while it was idle."""
        self._socket.close()
        self._socket = self._connect()

    def close(self) -> None:
        self._socket.close()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _exchange(self, request: bytes, expected: int) -> bytes:
        try:
            self._socket.sendall(request)
            status, body = self._read()
        except OSError as error:
            raise RequestFailed(f"{_line(request)} was not answered: {error}") from error
        if status != expected:
            raise RequestFailed(f"{_line(request)} was answered {status}: {body[:300]!r}")
        return body

    def _read(self) -> tuple[int, bytes]:
        received = bytearray()
        while (end := received.find(END_OF_HEAD)) < 0:
            self._receive(received)
        length = LENGTH.search(received, 0, end)
        total = end + len(END_OF_HEAD) + (int(length[1]) if length else 0)
        while len(received) < total:
            self._receive(received)
        return int(received[9:12]), bytes(memoryview(received)[end + len(END_OF_HEAD) :])

    def _receive(self, received: bytearray) -> None:
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        received += chunk


def _line(request: bytes) -> str:
    return request.partition(b"\r\n")[0].decode(errors="replace")[:200]


def allocation(provider: str, amounts: dict[str, int]) -> dict[str, Any]:
    """Return the PUT document of a new consumer's allocation from one provider."""
    return {
        "allocations": {provider: {"resources": amounts}},
        "project_id": "lab",
        "user_id": "lab",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


CHECK_EACH = 1_000  # Calls per checked call; the first call is checked.
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
