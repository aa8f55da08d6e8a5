# SPDX-License-Identifier: Apache-2.0
"""The order of work in a parallel run: of the processes' collections, and of the test files."""

import contextlib
import functools
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.support import CHECKOUT

WAITING = ("tests/chaos/", "tests/contract/", "tests/functional/")  # mostly for servers, for a fourth of a core
LONGEST = "tests/functional/systemd/"  # minutes, most of them to make its machine

# The share of the computing files at which the last waiting file begins: the run ends with short files on all cores.
LAST_WAITING = 0.8

# Tests with these fixtures use a RabbitMQ node of the process, which takes five seconds of a core to start; contract
# tests do by the peers of their transports.
RABBITMQ_FIXTURES = re.compile(r"\b(?:rabbit_node|managed_rabbit)\b")
CONTRACT = "tests/contract/test_"
CONTRACT_FIXTURES = re.compile(rf"{RABBITMQ_FIXTURES.pattern}|\bpeers: Peers\b")
RABBITMQ = "tests that share a RabbitMQ node"

FIRST_WORKER = "gw0"
COLLECTION_SECONDS = 120.0


@contextlib.contextmanager
def first_worker_alone(config: pytest.Config) -> Iterator[None]:
    """Let the other processes of a parallel run collect after the first one.

    In a new checkout pytest compiles each test file, which is most of its collection. The other processes find the
    files compiled instead of all doing the same work at once.
    """
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker is None:
        yield
        return
    collected = Path(config.option.basetemp).with_name("collected")
    if worker == FIRST_WORKER:
        try:
            yield
        finally:
            collected.touch()
        return
    deadline = time.monotonic() + COLLECTION_SECONDS
    while not collected.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    yield


class SharingScheduler(LoadFileScheduling):
    """Scheduler that runs a file's tests in one process, and those of all files with RabbitMQ in one process."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """Return what runs in one process: a file, or the files that share a RabbitMQ node."""
    return _unit_of_file(nodeid.partition("::")[0])


@functools.cache
def _unit_of_file(file: str) -> str:
    path, fixtures = CHECKOUT / file, CONTRACT_FIXTURES if file.startswith(CONTRACT) else RABBITMQ_FIXTURES
    return RABBITMQ if path.is_file() and fixtures.search(path.read_text()) else file


def spread(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the items with the files that wait spread over those that compute, the longest units first.

    The items of a unit stay together and in their order. Every process of a run gets the same order.
    """
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        units.setdefault(unit_of(item.nodeid), []).append(item)
    waiting = [unit for unit in units if unit.startswith((*WAITING, RABBITMQ))]
    waiting.sort(key=lambda unit: (not unit.startswith(LONGEST), unit != RABBITMQ))
    computing = [unit for unit in units if unit not in waiting]
    places = {unit: LAST_WAITING * number / len(waiting) for number, unit in enumerate(waiting)}
    places |= {unit: number / len(computing) for number, unit in enumerate(computing)}
    return [item for unit in sorted(places, key=places.__getitem__) for item in units[unit]]
