# SPDX-License-Identifier: Apache-2.0
"""Cleanup goes on while tombstones, pins or deadlines are due; it did so for ended claims only.

A worker removed 500 tombstones and 500 pins in each interval, whatever the load: beyond that rate they grew forever.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.replication.reaper import BATCH, Reaper, ReapLimits
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition, intent

INTERVAL = 5.0  # seconds between batches when nothing is due


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition of each backend."""
    partition = open_partition(request, tmp_path)
    yield partition
    partition.store.close()


def batches_until_done(partition: StorePartition, limits: ReapLimits) -> int:
    """Clean up as a worker does, without its pauses; return the number of batches until the pause is the interval."""
    reaper = Reaper(partition.store, lambda: limits)
    for number in range(1, 100):
        reaper.reap()
        if reaper.pause(INTERVAL) == INTERVAL:
            return number
    raise AssertionError("cleanup does not end")


def test_all_tombstones_that_are_due_are_removed(partition: StorePartition) -> None:
    refs = [ClaimRef(f"c{number}", 1) for number in range(2 * BATCH + 1)]
    for start in range(0, len(refs), 100):
        partition.store.release("h1", refs[start : start + 100])
    partition.wait_until(partition.time() + 100 * SHORT_MS)
    young = ClaimRef("young", 1)
    partition.store.release("h1", [young])
    assert batches_until_done(partition, ReapLimits(None, 99 * SHORT_MS)) == 3
    answers = [result.answer for result in partition.store.find([refs[0], refs[-1], young])]
    assert answers == [Answer.UNKNOWN, Answer.UNKNOWN, Answer.RELEASED]


def test_all_pins_that_are_due_are_removed(partition: StorePartition) -> None:
    for number in range(BATCH + 1):
        partition.store.pin(f"request-{number}", "a", SHORT_MS)
    partition.store.pin("later", "a", LONG_MS)
    partition.wait_until(partition.time() + SHORT_MS)
    assert batches_until_done(partition, ReapLimits(None, LONG_MS)) == 2
    assert partition.store.pin("later", "b", LONG_MS) == "a"


def test_claims_parked_until_an_audit_do_not_end_the_cleanup(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 10_000, "MEMORY_MB": 1_000_000})
    consumers = [f"c{number}" for number in range(BATCH + 1)]
    partition.store.prepare(partition.batch(*(intent(consumer, "h1") for consumer in consumers)))
    partition.new_epoch()
    for consumer in consumers:
        partition.pass_deadline_of(consumer)
    assert batches_until_done(partition, ReapLimits(None, LONG_MS)) == 2
