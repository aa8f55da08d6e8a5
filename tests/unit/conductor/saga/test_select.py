# SPDX-License-Identifier: Apache-2.0
"""The step SELECT: late, lost and refused answers of the scheduler, and hosts without an audit."""

import re
from dataclasses import replace
from types import SimpleNamespace

import oslo_messaging as messaging
import pytest

from conductor.saga.select import select
from conductor.store.records import SagaStep
from rpcapi import errors
from rpcapi.resources import transient
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.ledger import TTL_MS
from tests.support.conductor.simulated_cluster import CTXT, LIMITS, SPEC, THREE, SimulatedCluster, uuid_list
from tests.support.conductor.step_contexts import FakeClaims, instance, make_context


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


@pytest.mark.parametrize("error", [messaging.MessagingTimeout("no answer"), None], ids=["no answer", "no audit"])
def test_time_in_the_backlog_does_not_count_as_time_without_an_answer(
    cluster: SimulatedCluster, error: Exception | None
) -> None:
    uuids = uuid_list(2)
    cluster.scheduler.fail = [error] * 3 if error else []
    if not error:
        cluster.ledger.forget()
    cluster.build(uuids)
    cluster.now_ms += 2 * LIMITS.select_timeout_ms  # no conductor takes the request
    cluster.settle(20_000)
    for host in ("h1", "h2", "h3"):
        cluster.ledger.audit(host)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
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


def test_claim_of_a_forgotten_resize_is_not_used(cluster: SimulatedCluster) -> None:
    """Given a prepared claim of the same attempt with the amounts of another flavor."""
    (uuid,) = uuid_list(1)
    cluster.scheduler.select_destinations(CTXT, SPEC.with_values(resources={"VCPU": 2}), [uuid])
    cluster.build([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    (claim,) = cluster.ledger.store.claims()[0]
    assert (claim.attempt, claim.allocations) == (2, {claim.host: SPEC.resources})
    cluster.check([uuid])


def test_claims_that_end_before_a_build_cost_no_attempt(cluster: SimulatedCluster) -> None:
    """Given more lost answers than attempts, and a host that refuses the build, then an alternate is still tried."""
    uuids = uuid_list(2)
    cluster.ledger.ttl_ms = 10_000
    rounds = LIMITS.max_attempts + 1
    cluster.scheduler.lose = [messaging.MessagingTimeout("no answer")] * rounds
    cluster.build(uuids)
    for _ in range(rounds):
        cluster.work()
        cluster.now_ms += cluster.ledger.ttl_ms
    for uuid in uuids:
        cluster.hosts.behaviours[uuid, rounds + 1] = "refused"
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert {cluster.record(uuid).attempt for uuid in uuids} == {rounds + 2}
    cluster.check(uuids)


def test_all_instances_wait_until_all_their_claims_have_ended(cluster: SimulatedCluster) -> None:
    """Given claims on two hosts whose answer was lost before an epoch, in which one host has audited."""
    uuids = uuid_list(2)
    cluster.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    cluster.build(uuids)
    cluster.work()
    assert len({claim.host for claim in cluster.ledger.store.claims()[0]}) == 2
    cluster.store.begin_epoch()  # builds may have been sent, and forgotten
    epoch = cluster.ledger.store.begin_epoch()
    cluster.ledger.store.name_hosts(epoch, [], complete=True)
    cluster.ledger.audit("h1")
    cluster.settle(20_000)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    assert {cluster.record(uuid).attempt for uuid in uuids} == {1}
    for host in ("h2", "h3"):
        cluster.ledger.audit(host)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert {cluster.record(uuid).attempt for uuid in uuids} == {2}
    cluster.check(uuids)


def test_claims_whose_hosts_got_no_build_are_ended_without_their_audits(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    cluster.build(uuids)
    cluster.work()
    cluster.ledger.store.begin_epoch()
    cluster.ledger.audit("h1")
    cluster.settle(20_000)
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert {(cluster.record(uuid).attempt, cluster.record(uuid).host) for uuid in uuids} == {(2, "h1/n")}
    cluster.check(uuids)


@pytest.mark.parametrize("answer", ["confirmed", "conflict"])
def test_instance_of_which_an_attempt_is_live_is_settled_and_the_others_selected_again(answer: str) -> None:
    scripted = FakeClaims(lambda consumer, attempt: (answer if consumer == "live" else "aborted", None))

    def select_destinations(*_: object, **__: object) -> None:
        raise errors.ClaimEnded(consumer="other", attempt=1, partition="p", why="it was aborted")

    context = make_context(scripted)
    clients = replace(context.clients, scheduler=SimpleNamespace(select_destinations=select_destinations))
    changed = select(replace(context, clients=clients), [instance("live"), instance("other")])
    states = {record.uuid: (record.step, record.status, record.attempt) for record in changed}
    assert states == {
        "live": (SagaStep.SETTLE, InstanceStatus.BUILDING, 1),
        "other": (SagaStep.SELECT, InstanceStatus.SCHEDULING, 2),
    }


def test_select_waits_for_unaudited_hosts(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.ledger.forget()
    cluster.build(uuids)
    cluster.settle(20_000)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    assert len(cluster.scheduler.calls) > 1

    cluster.ledger.audit("h2")
    cluster.settle()

    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    assert {cluster.record(uuid).host for uuid in uuids} == {"h2/n"}
    assert {attempt for _, attempt in cluster.scheduler.calls} == {1}
    cluster.check(uuids)


def test_unaudited_hosts_are_the_error_reason_after_timeout(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.ledger.forget()
    cluster.build(uuids)
    cluster.settle(LIMITS.select_timeout_ms - 1)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ERROR"}
    refusal = "No valid host: 3 not audited in this epoch"
    assert re.fullmatch(f"{refusal}; decided again for (1[89]|2[01])[0-9] s", cluster.reason(uuids[0]))
    for host in ("h1", "h2", "h3"):
        cluster.ledger.audit(host)
    cluster.settle()
    cluster.check(uuids)


def test_request_refused_by_audited_hosts_waits_for_the_others(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(5)  # more than one host has room for
    cluster.ledger.forget()
    cluster.ledger.audit("h1")
    cluster.build(uuids)
    cluster.settle(20_000)
    assert set(cluster.statuses(uuids)) == {"SCHEDULING"}
    cluster.ledger.audit("h3")
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ACTIVE"}
    cluster.check(uuids)


def refusal(**reasons: int) -> errors.NoValidHost:
    """Return a refusal by transient reasons, each named as in the module."""
    counts = {getattr(transient, name): count for name, count in reasons.items()}
    return errors.NoValidHost(reason=", ".join(f"{count} {text}" for text, count in counts.items()), reasons=counts)


def test_waiting_instance_shows_what_is_passing(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.scheduler.fail = [refusal(JUST_DOWN=2)]
    cluster.build([uuid])
    cluster.work()
    assert (cluster.record(uuid).status, cluster.reason(uuid)) == (
        "SCHEDULING",
        "Waiting: No valid host: 2 service down for less than a minute",
    )
    cluster.settle()
    assert (cluster.record(uuid).status, cluster.record(uuid).reason) == ("ACTIVE", None)


def test_final_reason_says_for_how_long_and_what_was_passing(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    final = errors.NoValidHost(reason="2 service down", reasons={"service down": 2})
    cluster.scheduler.fail = [*[refusal(JUST_DOWN=2)] * 3, final]
    cluster.build([uuid])
    cluster.settle()
    assert cluster.record(uuid).status == "ERROR"
    assert re.fullmatch(
        "No valid host: 2 service down; decided again for [345] s, "
        "before: No valid host: 2 service down for less than a minute",
        cluster.reason(uuid),
    )


@pytest.mark.parametrize(
    ("reason", "limit_s"), [("CHANGED_MEANWHILE", transient.SECONDS), ("JUST_DOWN", LIMITS.select_timeout_ms / 1000)]
)
def test_request_is_decided_again_for_a_limited_time(cluster: SimulatedCluster, reason: str, limit_s: float) -> None:
    (uuid,) = uuid_list(1)
    cluster.scheduler.fail = [refusal(**{reason: 1})] * 100
    cluster.build([uuid])
    cluster.settle(round(1000 * limit_s) - 1)
    assert cluster.statuses([uuid]) == ["SCHEDULING"]
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ERROR"]
    assert len(cluster.scheduler.fail) > 80, "the pauses between decisions grow"


def test_time_without_an_answer_does_not_count_as_time_since_the_first_refusal(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.scheduler.fail = [errors.NotReady(what="worker", why="it loads")] * 1000
    cluster.build([uuid])
    cluster.settle(70_000)
    cluster.scheduler.fail = [refusal(CHANGED_MEANWHILE=1)]
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    assert cluster.record(uuid).refused_ms == 0


def test_select_timeout_includes_the_time_without_an_answer(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.scheduler.fail = [errors.NotReady(what="worker", why="it loads")] * 1000
    cluster.build([uuid])
    cluster.settle(70_000)
    cluster.scheduler.fail = [refusal(JUST_DOWN=1)] * 1000
    cluster.settle()
    waited = re.search(r"decided again for ([0-9]+) s", cluster.reason(uuid))
    assert waited and 80 <= int(waited[1]) <= 150


def test_refusal_by_audited_hosts_is_final(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(13)
    cluster.build(uuids)
    cluster.work()
    assert len(cluster.scheduler.calls) == 1
    assert set(cluster.statuses(uuids)) == {"ERROR"}


def test_no_valid_host_sets_error_with_reason(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(13)
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ERROR"}
    assert "No valid host" in cluster.reason(uuids[0])
    assert "Traceback" not in cluster.reason(uuids[0])
    cluster.check(uuids)


def test_instances_that_a_full_store_refuses_end_in_error_with_its_reason(cluster: SimulatedCluster) -> None:
    uuids, others = uuid_list(4)[:2], uuid_list(4)[2:]
    cluster.scheduler.fail = [
        errors.StoreFull(store="The store", collection="claims", bytes=9, bound=8, option="[store] claim_bytes")
    ]
    cluster.build(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"ERROR"}
    assert "[store] claim_bytes allows 8" in cluster.reason(uuids[0])
    cluster.build(others)
    cluster.settle()
    assert set(cluster.statuses(others)) == {"ACTIVE"}
    cluster.check([*uuids, *others])
