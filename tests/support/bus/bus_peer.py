# SPDX-License-Identifier: Apache-2.0
"""Helpers of the bus suites: a recording endpoint, and servers and clients on one transport."""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import oslo_messaging
from oslo_config import cfg

from rpcapi import errors
from rpcapi.messaging import bus

TRANSPORTS = ("fake", "embedded", "rabbit")
CALL_TIMEOUT = 10.0
WAIT_SECONDS = 20.0


def eventually(condition: Callable[[], Any], what: str) -> None:
    """Poll until the condition holds; fail with `what` after WAIT_SECONDS."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_SECONDS:.0f} s: {what}"
        time.sleep(0.01)


def private_conf() -> cfg.ConfigOpts:
    """Return a separate configuration, as each process has."""
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    return conf


class Endpoint:
    """An endpoint of version 1.1 that echoes, fails, waits and records."""

    target = oslo_messaging.Target(version="1.1")

    def __init__(self, name: str) -> None:
        self.name = name
        self.notes: list[Any] = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.server: Any = None

    @oslo_messaging.expose
    def echo(self, ctxt: dict[str, Any], value: Any) -> Any:
        return value

    @oslo_messaging.expose
    def who(self, ctxt: dict[str, Any]) -> str:
        return self.name

    @oslo_messaging.expose
    def context(self, ctxt: dict[str, Any]) -> dict[str, Any]:
        return ctxt

    @oslo_messaging.expose
    def note(self, ctxt: dict[str, Any], value: Any) -> None:
        self.notes.append(value)

    @oslo_messaging.expose
    def refuse(self, ctxt: dict[str, Any], name: str) -> None:
        raise errors.UnknownFlavor(name=name, choices="none")

    @oslo_messaging.expose
    def crash(self, ctxt: dict[str, Any]) -> None:
        raise LookupError("a surprise")

    @oslo_messaging.expose
    def answer_of_size(self, ctxt: dict[str, Any], size: int) -> str:
        return "x" * size

    @oslo_messaging.expose
    def hold(self, ctxt: dict[str, Any]) -> str:
        """Return after the test has opened the gate."""
        self.entered.set()
        self.gate.wait(WAIT_SECONDS)
        return self.name

    def unmarked(self, ctxt: dict[str, Any]) -> str:
        """Not exposed to peers."""
        return self.name

    def _private(self, ctxt: dict[str, Any]) -> str:
        return self.name


class Peers:
    """Servers and clients of one topic, each with its own transport as in separate processes."""

    def __init__(self, url: str, ending: "Ending", **bus_options: Any) -> None:
        self.url = url
        self.topic = f"topic-{uuid.uuid4().hex}"
        self.exchange = f"{bus.EXCHANGE}-{self.topic}"
        self._ending = ending
        self._bus_options = bus_options
        self.rpc_options: dict[str, Any] = {}
        self._transports: list[Any] = []
        self._servers: list[Any] = []

    def transport(self) -> Any:
        conf = private_conf()
        bus.set_defaults(conf)
        for name, value in self._bus_options.items():
            conf.set_override(name, value, group="gantt_bus")
        for name, value in self.rpc_options.items():
            conf.set_override(name, value, group="rpc")
        transport = bus.get_transport(conf, self.url)
        self._transports.append(transport)
        return transport

    def serve(self, name: str = "s1", transport: Any = None, pool: int | None = None) -> Endpoint:
        """Start a server and return its endpoint."""
        endpoint = Endpoint(name)
        endpoint.server = self.start(endpoint, name, transport, pool)
        return endpoint

    def start(
        self, endpoint: Any, name: str, transport: Any = None, pool: int | None = None, serializer: Any = None
    ) -> Any:
        """Start a server of this endpoint and return it."""
        target = oslo_messaging.Target(topic=self.topic, server=name)
        server = bus.get_server(transport or self.transport(), target, [endpoint], serializer)
        server.start(override_pool_size=pool)
        self._servers.append(server)
        return server

    def client(self, transport: Any = None, **options: Any) -> Any:
        options = {"timeout": CALL_TIMEOUT, **options}
        target = oslo_messaging.Target(topic=self.topic, version="1.0")
        return bus.get_client(transport or self.transport(), target, **options)

    def close(self) -> None:
        """Stop the servers; `Ending` waits for them."""
        for server in self._servers:
            server.stop()
        self._ending.take(self._servers, self._transports, self.url)


class Ending:
    """Waits for stopped servers during the following tests, as oslo.messaging's executors take a second to end."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._transports: list[Any] = []

    def take(self, servers: list[Any], transports: list[Any], url: str) -> None:
        self._threads += [in_thread(server.wait) for server in servers]
        if url.startswith("fake"):
            # Its cleanup affects the whole process.
            self._transports += transports
            return
        cleanups = [in_thread(transport.cleanup) for transport in transports]
        if url.startswith("gantt+redis"):
            # The test may stop its Redis next.
            join_all(cleanups)
        self._threads += cleanups

    def finish(self) -> None:
        join_all(self._threads)
        for transport in self._transports:
            transport.cleanup()


def fanout_received(client: Any, endpoint: Endpoint) -> bool:
    """Send a fan-out and return whether one has reached this server so far."""
    client.prepare(fanout=True).cast({}, "note", value="again")
    return bool(endpoint.notes)


def in_thread(action: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=action)
    thread.start()
    return thread


def join_all(threads: list[threading.Thread]) -> None:
    """Wait for the end of the threads."""
    for thread in threads:
        thread.join()
