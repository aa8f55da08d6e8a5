# SPDX-License-Identifier: Apache-2.0
"""Any message on the embedded bus or RabbitMQ is answered, or refused with a typed error that changes nothing.

The services run in a process of their own with stores in Redis. Messages are sent as they are, without the clients that
check them. Refused ones, however many, take neither the process's memory nor threads, and a short line of its log each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from tests.property.fuzz import LINE, Fuzz, Send
from tests.property.fuzzed_process import FuzzedProcess, get_transport, target_of
from tests.property.fuzzed_services import FuzzedService, all_services
from tests.support.servers import running_redis

BUSES = ("embedded", "rabbit")
SERVICES = ("scheduler", "conductor", "compute")
SECONDS = 60.0  # that a call may take
SHORT, LONG = 1, 300  # examples for each method
REPEATED_SHORT, REPEATED_LONG = 300, 8000  # refused calls that are repeated
MEMORY, MEMORY_OF_A_CALL = 6 << 20, 512  # bytes
THREADS = 64  # the executor's limit: it has as many as calls once overlapped, far fewer than were repeated


@pytest.fixture(scope="module")
def stores() -> Iterator[RedisServer]:
    """A Redis for the stores and the embedded bus of this module: names of services are the same in all modules."""
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def urls(stores: RedisServer, rabbit_node: RabbitNode) -> Mapping[str, str]:
    return {"embedded": stores.bus_url(), "rabbit": rabbit_node.url()}


@pytest.fixture(scope="module")
def process(
    stores: RedisServer, urls: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FuzzedProcess]:
    started = FuzzedProcess(tmp_path_factory.mktemp("services"), stores.url(), list(urls.values()))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, FuzzedService]]:
    """The same services in this process, whose methods are found by reflection; nobody calls these."""
    with all_services(tmp_path_factory.mktemp("agent")) as created:
        yield created


@pytest.fixture(params=BUSES)
def send(request: pytest.FixtureRequest, urls: Mapping[str, str]) -> Iterator[Send]:
    """Send a message to the server of a topic by the bus's driver, as it is."""
    transport = get_transport(urls[request.param])

    def send(topic: str, message: dict[str, Any], ctxt: dict[str, Any]) -> Exception | None:
        target = target_of(transport, topic)
        try:
            # The driver adds fields to the message.
            transport._driver.send(target, dict(ctxt), dict(message), wait_for_reply=True, timeout=SECONDS)
        except Exception as error:
            return error
        return None

    yield send
    transport.cleanup()


def check(name: str, process: FuzzedProcess, exposed: Mapping[str, FuzzedService], send: Send, sizes: Any) -> Fuzz:
    """Fuzz a service; then repeat refused calls and compare what the process uses before and after."""
    examples, repeated = sizes
    remote = replace(exposed[name], dump=lambda: process.do("dump", name), settle=lambda: process.do("settle", name))
    fuzz = Fuzz(remote, send)
    log_before = process.log.stat().st_size
    fuzz.run(examples)
    total, rejected = fuzz.outcomes.total(), list(islice(cycle(fuzz.refused), repeated))
    for call in rejected[: repeated // 3]:  # what is allocated once, is now
        send(*call)
    before = process.do("measure")
    for call in rejected:
        send(*call)
    after = process.do("measure")
    assert after["rss"] - before["rss"] < MEMORY + MEMORY_OF_A_CALL * repeated, (before, after)
    assert after["threads"] <= before["threads"] + THREADS, (before, after)
    with process.log.open() as log:
        log.seek(log_before)
        text = log.read()
    assert "Traceback" not in text, text[text.index("Traceback") :][:2000]
    assert len(text) < LINE * (total + repeated + repeated // 3)
    return fuzz


@pytest.mark.parametrize("name", SERVICES)
def test_fuzzed_messages_short(
    name: str, process: FuzzedProcess, exposed: Mapping[str, FuzzedService], send: Send
) -> None:
    check(name, process, exposed, send, (SHORT, REPEATED_SHORT))


# More than 50,000 fuzzed calls of all services on each bus.
@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SERVICES)
def test_fuzzed_messages_long(
    name: str, process: FuzzedProcess, exposed: Mapping[str, FuzzedService], send: Send, tmp_path: Path
) -> None:
    fuzz = check(name, process, exposed, send, (LONG, REPEATED_LONG))
    print(fuzz.outcomes.total(), "calls:", dict(fuzz.outcomes.most_common()))
