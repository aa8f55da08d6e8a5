# SPDX-License-Identifier: Apache-2.0
"""A boot that both stores forgot and its conductor repeated: a second copy ran beside the original."""

import pytest

from conductor.requests import builds
from conductor.store.records import SagaStep
from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.regressions.forgotten_boots import MINUTE_MS, come_back, lose_partition
from tests.support.conductor.simulated_cluster import CTXT, HORIZON_MS, SPEC, THREE, SimulatedCluster, uuid_list


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


@pytest.mark.parametrize("record_is_kept", [True, False])
def test_boot_that_both_stores_forgot_waits_for_its_host(cluster: SimulatedCluster, record_is_kept: bool) -> None:
    (uuid,) = uuid_list(1)
    first_sent_ms = cluster.now_ms
    if record_is_kept:
        cluster.build([uuid])
    records = cluster.copy_records()
    if not record_is_kept:
        cluster.build([uuid])
    cluster.settle()
    assert cluster.record(uuid).host == "h1/n"
    # Given that both stores forgot the boot, and the record is back at its selection, or gone and sent again
    cluster.restore_records(records)
    lose_partition(cluster, uuid, "h1")
    cluster.now_ms += MINUTE_MS
    if not record_is_kept:
        cluster.build([uuid], first_sent_ms=first_sent_ms)
    # When conductors work for hours without that host, then no second copy starts, and the instance is not in ERROR
    cluster.settle(4 * HORIZON_MS)
    assert (cluster.record(uuid).step, cluster.record(uuid).status) == (SagaStep.SELECT, "SCHEDULING")
    assert "is undecided: hosts that may run it" in cluster.reason(uuid)
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]
    # When the host comes back, then its guest goes on, and the record finds it
    assert come_back(cluster, uuid, "h1") is Answer.CONFIRMED
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    cluster.check([uuid])


def test_request_that_is_repeated_after_the_horizon_is_refused(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    with pytest.raises(errors.RequestTooOld):
        cluster.build([uuid], first_sent_ms=cluster.now_ms - HORIZON_MS - 1)


@pytest.mark.parametrize("horizons", [0, 4])
def test_repetition_at_unknown_time_waits_for_its_host(cluster: SimulatedCluster, horizons: int) -> None:
    """Given a boot that both stores forgot, and `gantt boot --uuid` by a new process, long afterwards too."""
    (uuid,) = uuid_list(1)
    records = cluster.copy_records()
    cluster.build([uuid])
    cluster.settle()
    cluster.restore_records(records)
    lose_partition(cluster, uuid, "h1")
    cluster.now_ms += horizons * HORIZON_MS + MINUTE_MS
    builds.build(cluster.conductors[0], CTXT, SPEC, [uuid])
    cluster.settle(4 * HORIZON_MS)
    assert cluster.statuses([uuid]) == ["SCHEDULING"]
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]
    assert come_back(cluster, uuid, "h1") is Answer.CONFIRMED
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    cluster.check([uuid])


def test_host_that_stays_away_delays_new_boots_by_the_horizon_at_most(cluster: SimulatedCluster) -> None:
    old, early, late = uuid_list(3)
    cluster.build([old])
    cluster.settle()
    began = cluster.now_ms
    cluster.store.begin_epoch()
    lose_partition(cluster, old, "h1")
    # Given a boot that is sent soon after the conductors' store forgot something
    cluster.now_ms += MINUTE_MS
    cluster.build([early])
    cluster.settle(HORIZON_MS // 2)
    assert cluster.statuses([early]) == ["SCHEDULING"]
    # Then it is served when callers can no longer be repeating lost requests, and a later one at once
    cluster.settle(HORIZON_MS)
    assert cluster.statuses([early]) == ["ACTIVE"]
    assert cluster.now_ms - began <= HORIZON_MS + MINUTE_MS
    cluster.now_ms = max(cluster.now_ms, began + HORIZON_MS)
    cluster.build([late])
    cluster.settle(MINUTE_MS)
    assert cluster.statuses([late]) == ["ACTIVE"]


def test_boot_whose_record_was_never_lost_waits_for_no_audit(cluster: SimulatedCluster) -> None:
    """Given a selection whose answer was lost and whose claim was forgotten, by a partition only."""
    old, uuid = uuid_list(2)
    cluster.build([old])
    cluster.settle()
    cluster.scheduler.lose.append(errors.Unavailable(what="the scheduler", why="its answer was lost"))
    cluster.build([uuid])
    cluster.work()
    assert cluster.record(uuid).step == SagaStep.SELECT
    store = cluster.ledger.store
    store.abort([ClaimRef(uuid, 1)])
    store.state.ended.pop(uuid)
    lose_partition(cluster, old, "h1")
    cluster.settle(MINUTE_MS)
    assert cluster.statuses([uuid]) == ["ACTIVE"]
