# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: decides and records, claims nothing, and raises NotClaimed."""

import pytest

from rpcapi import context, errors, objects
from rpcapi.resources.claims import Answer, ClaimState, GroupPolicy
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimGroup, Intent
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import CurrentPolicy
from scheduler_svc.scheduling.shadow import ShadowStore
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import SMALL_REQUEST, node, request
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView, unchanged
from tests.support.scheduler.schedulers import select
from tests.support.scheduler.workers import FakeTransportWorker

FOUR = {f"h{number}/n": node() for number in range(4)}  # capacity for 4 instances each


class ShadowPartition:
    """A store with hosts, one scheduler that claims and one in shadow mode."""

    def __init__(self, nodes=FOUR):
        self.store = MemoryStore("p")
        hosts.join(self.store, nodes)
        self.before = self.store.state.position
        self.replica_view = FollowingReplicaView(self.store)
        self.claiming, self.shadow = (
            PartitionScheduler(store, self.replica_view, SchedulingLimits())
            for store in (self.store, ShadowStore(self.store))
        )

    def ask(self, *consumers, **more):
        return select(self.shadow, SelectionCall(context.new("p", "u"), request(**more), consumers))

    @property
    def record(self):
        return self.store.find_decision("req-1")

    def nothing_happened(self):
        return not self.store.claims()[0] and self.store.state.position == self.before and not self.store.state.used


def test_shadow_mode_names_the_hosts_and_claims_nothing():
    partition = ShadowPartition()
    with pytest.raises(errors.NotClaimed, match="Request req-1 was decided and recorded") as caught:
        partition.ask("c-1", "c-2")
    assert caught.value.kwargs["request_id"] == "req-1"
    assert set(caught.value.kwargs["hosts"]) <= set(FOUR)
    assert len(caught.value.kwargs["hosts"]) == 2
    assert partition.nothing_happened()


def test_shadow_mode_selects_the_same_hosts_as_claim_mode():
    partition = ShadowPartition(
        {f"h{number}/n": node({"VCPU": 8 + number, "MEMORY_MB": 16384, "DISK_GB": 200}) for number in range(4)}
    )
    with pytest.raises(errors.NotClaimed) as caught:
        partition.ask("c-1", "c-2")
    shadowed = partition.record
    selection = select(partition.claiming, SelectionCall(context.new("p", "u"), request(), ("c-1", "c-2")))
    assert caught.value.kwargs["hosts"] == [result.host for result in selection.prepared]
    claimed = partition.record
    for key in ("driver", "seed", "spec", "hosts", "reasons", "best", "instances"):
        assert shadowed[key] == claimed[key], key


def test_shadow_record_is_marked_and_names_the_hosts():
    partition = ShadowPartition()
    with pytest.raises(errors.NotClaimed) as caught:
        partition.ask("c-1")
    record = partition.record
    assert (record["mode"], record["outcome"]) == ("shadow", "shadow")
    (host,) = caught.value.kwargs["hosts"]
    assert record["verdicts"] == [{"consumer": "c-1", "answer": "shadow", "host": host, "tried": []}]
    assert record["best"][0]["name"] == host


def test_shadow_mode_records_refusals():
    partition = ShadowPartition()
    with pytest.raises(errors.NoValidHost, match="4 "):
        partition.ask("c-1", resources={"VCPU": 9})
    record = partition.record
    assert (record["mode"], record["outcome"]) == ("shadow", "refused")
    assert [(result["consumer"], result["host"]) for result in record["verdicts"]] == [("c-1", None)]
    assert sum(record["reasons"].values()) == 4
    with pytest.raises(errors.UnknownHost):
        partition.ask("c-1", force_hosts=("nobody",))
    assert partition.nothing_happened()


def test_shadow_store_returns_the_requested_number_of_alternates():
    partition = ShadowPartition()
    intents = [Intent("c-1", 1, [Candidate(name) for name in FOUR]), Intent("c-2", 1, [Candidate("h3/n")])]
    batch = ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, 1, 1, ttl_ms=1000, alternates=2)
    (answer,) = ShadowStore(partition.store).prepare_all([batch]).outcomes
    assert (answer.accepted, answer.current, answer.epoch, answer.position) == (True, True, 1, 1)
    assert [(result.answer, result.host, result.alternates) for result in answer.prepared] == [
        (Answer.PREPARED, "h0/n", ("h1/n", "h2/n")),
        (Answer.PREPARED, "h3/n", ()),
    ]


def test_shadow_batch_with_an_intent_without_candidates_is_refused():
    partition = ShadowPartition()
    intents = [Intent("c-1", 1, [Candidate("h0/n")]), Intent("c-2", 1, [])]
    (answer,) = (
        ShadowStore(partition.store)
        .prepare_all([ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, 1, 1, ttl_ms=1000)])
        .outcomes
    )
    assert (answer.accepted, answer.current) == (False, True)
    assert [(result.answer, result.host) for result in answer.prepared] == [(Answer.REFUSED, None)] * 2
    assert partition.record["outcome"] == "refused"


def test_large_shadow_request_is_decided_as_a_whole():
    partition = ShadowPartition({f"h{number}/n": node() for number in range(30)})  # capacity for 120
    consumers = [f"c-{number}" for number in range(110)]
    with pytest.raises(errors.NotClaimed) as caught:
        partition.ask(*consumers)
    assert len(caught.value.kwargs["hosts"]) == 110
    assert partition.nothing_happened()


def test_shadow_mode_respects_group_members_from_audits():
    partition = ShadowPartition()
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    select(partition.claiming, SelectionCall(context.new("p", "u"), request(group=group), ("member",)))
    (member,) = partition.store.claims()[0]
    with pytest.raises(errors.NotClaimed) as caught:
        partition.ask("c-1", "c-2", "c-3", group=group)
    assert len(set(caught.value.kwargs["hosts"]) | {member.host}) == 4


def test_shadow_mode_claims_no_alternates():
    partition = ShadowPartition()
    shadow = ShadowStore(partition.store)
    alternates = AlternateClaimer(CurrentPolicy(FILTER_POLICY), shadow, partition.replica_view, 1.0, unchanged)
    batch = ClaimBatch("req-2", "p", "u", SMALL_REQUEST, [], 1, 1, ttl_ms=1000)
    with pytest.raises(errors.NotClaimed, match="req-2"):
        alternates.prepare(context.new("p", "u"), request(), batch)
    assert partition.nothing_happened()


def test_every_call_of_a_shadow_batch_is_answered_with_not_claimed():
    partition = ShadowPartition()
    calls = [SelectionCall(context.new("p", "u"), request(), (f"c-{number}",)) for number in range(2)]
    outcomes = partition.shadow.select_batch(FILTER_POLICY, calls)
    assert [type(outcome) for outcome in outcomes] == [errors.NotClaimed] * 2
    assert partition.nothing_happened()


@pytest.fixture(scope="module")
def worker():
    worker_ = FakeTransportWorker(mode="shadow")
    worker_.service.start()
    worker_.join("h", {"h/1": node(), "h/2": node()})
    yield worker_
    worker_.service.stop()
    worker_.service.wait()


def test_a_request_is_decided_recorded_and_not_claimed(worker):
    ctxt = context.new("p", "u")
    with pytest.raises(errors.NotClaimed) as caught:
        worker.select(2, ctxt)
    assert len(caught.value.kwargs["hosts"]) == 2
    assert set(caught.value.kwargs["hosts"]) <= {"h/1", "h/2"}
    assert caught.value.kwargs["request_id"] == ctxt.request_id
    assert worker.claims.list_claims(context.new()).claims == []
    page = worker.scheduler.list_decisions(context.new())
    (recorded,) = [decision for decision in page.decisions if decision.request_id == ctxt.request_id]
    assert recorded.document["outcome"] == "shadow"
    assert worker.scheduler.explain(context.new(), ctxt.request_id).document == recorded.document


def test_request_that_no_host_fits_is_refused(worker):
    with pytest.raises(errors.NoValidHost):
        worker.select(resources={"VCPU": 1000})


def test_alternates_are_not_claimed(worker):
    standing = worker.store.snapshot()
    intents = objects.ClaimIntents.of(
        spec=objects.RequestSpec.of(resources=SMALL_REQUEST),
        consumers=["0b5b3b5e-7a55-4a3e-9f0a-6b1f6a3c9d10"],
        attempts=[2],
        replaces=[1],
        candidates=[["h/1"]],
        epoch=standing.epoch,
        position=standing.position,
    )
    with pytest.raises(errors.NotClaimed):
        worker.claims.prepare_claims(context.new("p", "u"), intents)
    assert worker.claims.list_claims(context.new()).claims == []


def test_audits_add_claims_in_shadow_mode(worker):
    uuid = "0b5b3b5e-7a55-4a3e-9f0a-6b1f6a3c9d11"
    owner = {"type": "INSTANCE", "project": "p", "user": "u", "request_id": "req-9", "group": None}
    columns = {
        "consumers": [uuid],
        "attempts": [1],
        "states": [str(ClaimState.CONFIRMED)],
        "names": ["h/1"],
        "allocations": [{"h/1": SMALL_REQUEST}],
        "owners": [owner],
    }
    worker.audit("h", worker.store.state.epoch, **columns)
    assert [claim["consumer"] for claim in worker.claims.list_claims(context.new()).claims] == [uuid]
    worker.audit("h", worker.store.state.epoch)


def test_policy_is_replaced_on_reload(worker):
    before = worker.service._worker.scheduling.current.policy
    worker.service.reset()
    assert worker.service._worker.scheduling.current.policy is not before
