# SPDX-License-Identifier: Apache-2.0
"""A service without nodes is registered in its own partition, whichever worker answers."""

from collections.abc import Iterator

import pytest

from rpcapi import context, errors
from tests.support.scheduler.workers import FakeTransportWorker

CONDUCTOR = "gantt-conductor"


@pytest.fixture
def worker() -> Iterator[FakeTransportWorker]:
    """A worker of the partition ``default``, which selects from ``cell`` too."""
    created = FakeTransportWorker(partitions=["default", "cell"])
    created.service.start()
    yield created
    created.service.stop()


def registered(worker: FakeTransportWorker) -> set[tuple[str, str]]:
    """Return name and partition of the conductors that a worker lists."""
    states = worker.scheduler.list_host_state(context.new(), "service").states
    return {(state.name, state.partition) for state in states if state.document["binary"] == CONDUCTOR}


def test_service_is_registered_in_the_partition_that_it_names(worker: FakeTransportWorker) -> None:
    worker.scheduler.report_service(context.new(), CONDUCTOR, "m1", {"conductor": "1.21"}, "cell")
    worker.scheduler.report_service(context.new(), CONDUCTOR, "m2", partition="cell")
    worker.scheduler.report_service(context.new(), CONDUCTOR, "old")

    assert registered(worker) == {
        (f"{CONDUCTOR}@m1", "cell"),
        (f"{CONDUCTOR}@m2", "cell"),
        (f"{CONDUCTOR}@old", "default"),
    }


def test_unknown_partition_of_a_service_is_refused(worker: FakeTransportWorker) -> None:
    with pytest.raises(errors.UnknownPartition, match="'nowhere'"):
        worker.scheduler.report_service(context.new(), CONDUCTOR, "m1", partition="nowhere")
    assert registered(worker) == set()
