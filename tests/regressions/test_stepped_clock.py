# SPDX-License-Identifier: Apache-2.0
"""The clock of a partition's server steps: prepared claims, dead hosts, pins and orphans depend on no clock.

Until the partition kept its own time, a step back by an hour made prepared claims hold for an hour longer and dead
hosts stay alive for an hour; a leap forward ended all prepared claims and marked every service down.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.store.records import MAX_STEP_MS
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import LONG_MS, SMALL, StorePartition

HOUR_MS = 3_600_000
MONTH_MS = 30 * 24 * HOUR_MS
DEAD_AFTER_MS = 4 * MAX_STEP_MS  # as by default: service_down_time is four times max_clock_step
TOMBSTONE_MS = 24 * HOUR_MS


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition whose server's clock can be stepped."""
    partition = open_partition(request, tmp_path)
    yield partition
    partition.store.close()


def pass_time(partition: StorePartition, milliseconds: int) -> None:
    """Let time pass as for an idle partition: the clock goes on, and the reaper runs within each longest step."""
    while milliseconds > 0:
        step_ms = min(milliseconds, MAX_STEP_MS)
        partition.step_clock(step_ms)
        partition.store.reap(dead_after_ms=DEAD_AFTER_MS, tombstone_ms=TOMBSTONE_MS)
        milliseconds -= step_ms


def is_alive(partition: StorePartition, host: str) -> bool:
    return bool(partition.store.get_state("service", host)[1]["alive"])


@pytest.mark.parametrize("step_ms", [-HOUR_MS, -MONTH_MS])
def test_time_goes_on_at_once_after_a_step_back(partition: StorePartition, step_ms: int) -> None:
    # given a prepared claim that fills its host, a pin, and a host that dies
    partition.add_host("h1", amounts=SMALL)
    partition.add_host("dead")
    partition.prepare("c1", "h1", ttl_ms=MAX_STEP_MS)
    partition.store.pin("k", "a", MAX_STEP_MS)
    # when the server's clock steps back, or a server whose clock is behind takes over
    partition.step_clock(step_ms)
    partition.report("h1", {}, full=False, base=1)
    # then the claim's deadline passes when it would have, and its capacity is free
    pass_time(partition, MAX_STEP_MS)
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    assert partition.store.pin("k", "b", LONG_MS) == "b"
    assert is_alive(partition, "dead")
    # and the dead host is down when it has been silent for long enough
    pass_time(partition, DEAD_AFTER_MS)
    assert not is_alive(partition, "dead")
    partition.check()


@pytest.mark.parametrize("leap_ms", [HOUR_MS, MONTH_MS])
def test_leap_forward_and_back_ends_nothing_early(partition: StorePartition, leap_ms: int) -> None:
    partition.add_host("h1")
    ended = partition.hold("ended", "h1")
    partition.store.release("h1", [ended])
    partition.prepare("c1", "h1", ttl_ms=20 * MAX_STEP_MS)
    for step_ms in (leap_ms, -leap_ms):
        partition.step_clock(step_ms)
        assert partition.store.reap(dead_after_ms=DEAD_AFTER_MS, tombstone_ms=TOMBSTONE_MS).ended == 0
    # then the claim holds, the host is up, and an ended attempt cannot begin again
    assert partition.states() == {"c1": "prepared"}
    assert is_alive(partition, "h1")
    assert partition.prepare("ended", "h1").answer is Answer.ENDED
    # and the deadline still passes
    pass_time(partition, 20 * MAX_STEP_MS)
    assert partition.states() == {}


def test_orphan_keeps_its_grace_across_a_leap_and_loses_it_across_a_step_back(partition: StorePartition) -> None:
    partition.add_host("h1")
    epoch = partition.store.snapshot().epoch
    grace_ms = 3 * MAX_STEP_MS
    partition.hold("c1", "h1")
    assert partition.store.audit("h1", epoch, [], grace_ms).orphans == 1
    partition.step_clock(HOUR_MS)
    assert partition.store.audit("h1", epoch, [], grace_ms).released == 0
    partition.step_clock(-HOUR_MS)
    assert partition.store.audit("h1", epoch, [], grace_ms).released == 0
    pass_time(partition, 2 * MAX_STEP_MS)
    assert partition.store.audit("h1", epoch, [], grace_ms).released == 1


def test_outage_of_the_store_marks_no_service_down(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.step_clock(10 * DEAD_AFTER_MS)  # nobody could send a heartbeat meanwhile
    partition.store.reap(dead_after_ms=DEAD_AFTER_MS, tombstone_ms=TOMBSTONE_MS)
    assert is_alive(partition, "h1")


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_time_goes_on_after_a_failover_to_a_server_with_another_clock(partition: StorePartition, step_ms: int) -> None:
    # given a replica that lags, and whose clock is an hour off
    partition.add_host("h1", amounts=SMALL)
    partition.add_host("dead")
    mark = partition.mark()
    partition.prepare("lost", "h1")
    # when it takes over
    epoch = partition.forget_since(mark)
    partition.step_clock(step_ms)
    assert partition.store.audit("h1", epoch, [], 0).epoch == epoch
    partition.report("h1", {}, full=False, base=1)
    # then deadlines and silence are judged as before
    assert partition.prepare("c1", "h1", ttl_ms=2 * MAX_STEP_MS).answer is Answer.PREPARED
    assert partition.prepare("c2", "h1").answer is Answer.REFUSED
    assert is_alive(partition, "h1") and is_alive(partition, "dead")
    pass_time(partition, 2 * MAX_STEP_MS)
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    pass_time(partition, DEAD_AFTER_MS)
    assert not is_alive(partition, "dead")
    partition.check()


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_people_read_the_servers_clock(partition: StorePartition, step_ms: int) -> None:
    partition.add_host("h1")
    partition.step_clock(step_ms)
    partition.store.pin("k", "a", LONG_MS)
    partition.step_clock(MAX_STEP_MS)  # partition's time and clock differ now, in every store
    before = partition.prepare("before", "h1")
    partition.report("h1", {}, full=False, base=1)
    after = partition.prepare("after", "h1")
    # then the report's time lies between the claims' times, which are the server's clock
    reported_ms = partition.store.get_state("service", "h1")[1]["last_report_ms"]
    claims = {claim.consumer: claim for claim in partition.store.claims()[0]}
    assert claims["before"].created_ms <= reported_ms <= claims["after"].created_ms
    # and so is a deadline with the lead that the store returns
    assert (before.deadline_ms, after.deadline_ms) == (claims["before"].deadline_ms, claims["after"].deadline_ms)
    lead_ms = partition.store.clock_lead()
    assert claims["after"].deadline_ms is not None
    assert claims["after"].deadline_ms + lead_ms == claims["after"].created_ms + LONG_MS
