# SPDX-License-Identifier: Apache-2.0
"""The memory that a host's report takes in each scheduler worker grows with the report, and not with its square.

The table has a column for each resource class, with a place for each host. So one agent that reports classes of its
own for each of its nodes, all within the limits of a report, takes gigabytes of every worker.
"""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from tests.support.scheduler.workers import FakeTransportWorker

# Resource classes of each node.
CLASSES = 3
NODES = 32


@pytest.fixture
def worker() -> Iterator[FakeTransportWorker]:
    worker = FakeTransportWorker()
    worker.service.start()
    yield worker
    worker.service.stop()
    worker.service.wait()


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def bytes_of_report(worker: FakeTransportWorker, host: str, nodes: int, *, own_classes: bool) -> int:
    """Return the memory that a report of so many nodes takes in this process; 0 if it is refused."""
    entry = {name: value for name, value in Inventory(1).as_dict().items() if name != "capacity"}
    report = {
        f"{host}/{node}": {
            "inventories": {
                f"CUSTOM_{host.upper()}_{node if own_classes else 0}_{number}": entry for number in range(CLASSES)
            }
        }
        for node in range(nodes)
    }
    before, _peak = tracemalloc.get_traced_memory()
    try:
        worker.report(host, report)
    except errors.GanttError:
        return 0
    worker.catch_up()
    return tracemalloc.get_traced_memory()[0] - before


@pytest.mark.parametrize(
    "own_classes",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.xfail(
                strict=True, raises=AssertionError, reason="Each reported class takes a place for each host."
            ),
        ),
    ],
)
def test_four_times_the_nodes_take_about_four_times_the_memory(worker: FakeTransportWorker, own_classes: bool) -> None:
    with traced():
        bytes_of_report(worker, "first", 1, own_classes=False)  # imports modules, allocates columns
        small = bytes_of_report(worker, "small", NODES, own_classes=own_classes)
        large = bytes_of_report(worker, "large", 4 * NODES, own_classes=own_classes)
    assert large <= 8 * small, f"{small >> 10} kB for {NODES} nodes, {large >> 10} kB for {4 * NODES}"
