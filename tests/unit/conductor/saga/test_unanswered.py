# SPDX-License-Identifier: Apache-2.0
"""Boots while the scheduler or the claims service answers late or not at all."""

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from tests.unit.conductor.ledger import TTL_MS
from tests.unit.conductor.saga.simulated_cluster import CTXT, SPEC, THREE, SimulatedCluster, history, uuid_list


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


@pytest.mark.parametrize(
    "error", [messaging.MessagingTimeout("no answer"), errors.NotReady(what="worker", why="it loads")]
)
def test_select_is_retried_without_answer(cluster: SimulatedCluster, error: Exception) -> None:
    uuids = uuid_list(2)
    cluster.scheduler.fail = [error] * 3
    cluster.scheduler.lose = [error]
    cluster.build(uuids)
    cluster.settle()
    assert cluster.scheduler.calls == [(uuids, 1)] * 5
    cluster.check(uuids)
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}


def test_instances_go_to_error_without_leaks_after_select_timeout(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.scheduler.lose = [messaging.MessagingTimeout("no answer")] * 1000
    cluster.claims.down = messaging.MessagingTimeout("no answer")
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ERROR"}
    assert "No answer from the scheduler for" in cluster.reason(uuids[0])
    cluster.claims.down = None
    cluster.settle()
    cluster.check(uuids)


def test_delayed_select_cannot_claim_after_error(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(1)
    cluster.scheduler.fail = [messaging.MessagingTimeout("lost on its way")] * 1000
    cluster.build(uuids)
    cluster.settle()
    cluster.scheduler.fail = []
    with pytest.raises(errors.ClaimEnded):
        cluster.scheduler.select_destinations(CTXT, SPEC, uuids)
    cluster.check(uuids)


def test_alternate_is_prepared_after_claims_outage(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.claims.down = errors.StoreUnavailable(why="it is away")
    cluster.build([uuid])
    cluster.settle(120_000)
    assert cluster.record(uuid).status == "BUILDING"
    cluster.claims.down = None
    cluster.settle()
    assert cluster.record(uuid).status == "ACTIVE"
    cluster.check([uuid])


def test_claims_ended_before_build_are_selected_again(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.ledger.ttl_ms = TTL_MS
    cluster.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    cluster.build(uuids)
    cluster.work()
    cluster.now_ms += TTL_MS
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert [attempt for _, attempt in cluster.scheduler.calls] == [1, 1, 2]
    cluster.check(uuids)


def test_build_with_expired_claim_goes_to_alternate(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.ledger.ttl_ms = TTL_MS
    cluster.build([uuid])
    cluster.work()
    cluster.now_ms += TTL_MS
    cluster.settle()
    assert history(cluster, uuid) == [(1, "h1/n", "refused")]
    assert cluster.record(uuid).status == "ACTIVE"
    cluster.check([uuid])


def test_invalid_alternate_request_ends_instance_and_claim(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)

    def refuse(*_: object) -> None:
        raise errors.InvalidRequest(why="a newer scheduler wants it otherwise")

    cluster.claims.prepare_claims = refuse  # type: ignore[method-assign, assignment]
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.build([uuid])
    cluster.settle()
    assert cluster.reason(uuid).startswith(
        "The request for an alternate is invalid: Invalid request: a newer scheduler"
    )
    cluster.check([uuid])
