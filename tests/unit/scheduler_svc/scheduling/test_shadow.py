# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: decides and records, claims nothing, and raises NotClaimed."""

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimGroup, Intent
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.batch import BatchSelector
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.claimer import StoreClaimer
from scheduler_svc.scheduling.policy import CurrentPolicy
from scheduler_svc.scheduling.selector import RetryLimits, Selector
from scheduler_svc.scheduling.shadow import ShadowAlternateClaimer, ShadowClaimer
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import SMALL_REQUEST, node, request
from tests.unit.scheduler_svc.fakes.replica_views import FILTER_POLICY, FollowingReplicaView
from tests.unit.scheduler_svc.fakes.selectors import select

FOUR = {f"h{number}/n": node() for number in range(4)}  # capacity for 4 instances each


class ShadowWorld:
    """A store with hosts, one scheduler that claims and one in shadow mode."""

    def __init__(self, nodes=FOUR):
        self.store = MemoryStore("p")
        hosts.join(self.store, nodes)
        self.before = self.store.state.position
        self.sight = FollowingReplicaView(self.store)
        self.claiming, self.shadow = (
            Selector(claimer_class(self.store), self.sight, RetryLimits())
            for claimer_class in (StoreClaimer, ShadowClaimer)
        )

    def ask(self, *consumers, **more):
        return select(self.shadow, SelectionCall(request(**more), consumers))

    @property
    def record(self):
        return self.store.find_decision("req-1")

    def nothing_happened(self):
        return not self.store.claims()[0] and self.store.state.position == self.before and not self.store.state.used


def test_shadow_mode_names_the_hosts_and_claims_nothing():
    world = ShadowWorld()
    with pytest.raises(errors.NotClaimed, match="shadow mode: request req-1 was decided and recorded") as caught:
        world.ask("c-1", "c-2")
    assert caught.value.kwargs["request_id"] == "req-1"
    assert set(caught.value.kwargs["hosts"]) <= set(FOUR)
    assert len(caught.value.kwargs["hosts"]) == 2
    assert world.nothing_happened()


def test_shadow_mode_selects_the_same_hosts_as_claim_mode():
    world = ShadowWorld(
        {f"h{number}/n": node({"VCPU": 8 + number, "MEMORY_MB": 16384, "DISK_GB": 200}) for number in range(4)}
    )
    with pytest.raises(errors.NotClaimed) as caught:
        world.ask("c-1", "c-2")
    shadowed = world.record
    selection = select(world.claiming, SelectionCall(request(), ("c-1", "c-2")))
    assert caught.value.kwargs["hosts"] == [result.host for result in selection.prepared]
    claimed = world.record
    for key in ("driver", "seed", "spec", "hosts", "reasons", "best", "instances"):
        assert shadowed[key] == claimed[key], key


def test_shadow_record_is_marked_and_names_the_hosts():
    world = ShadowWorld()
    with pytest.raises(errors.NotClaimed) as caught:
        world.ask("c-1")
    record = world.record
    assert (record["mode"], record["outcome"]) == ("shadow", "shadow")
    (host,) = caught.value.kwargs["hosts"]
    assert record["verdicts"] == [{"consumer": "c-1", "answer": "shadow", "host": host, "tried": []}]
    assert record["best"][0]["name"] == host


def test_shadow_mode_records_refusals():
    world = ShadowWorld()
    with pytest.raises(errors.NoValidHost, match="4 "):
        world.ask("c-1", resources={"VCPU": 9})
    record = world.record
    assert (record["mode"], record["outcome"]) == ("shadow", "refused")
    assert [(result["consumer"], result["host"]) for result in record["verdicts"]] == [("c-1", None)]
    assert sum(record["reasons"].values()) == 4
    with pytest.raises(errors.UnknownHost):
        world.ask("c-1", force_hosts=("nobody",))
    assert world.nothing_happened()


def test_shadow_claimer_returns_the_requested_number_of_alternates():
    world = ShadowWorld()
    intents = [Intent("c-1", 1, [Candidate(name) for name in FOUR]), Intent("c-2", 1, [Candidate("h3/n")])]
    batch = ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, 1, 1, ttl_ms=1000, alternates=2)
    answered = ShadowClaimer(world.store).prepare(batch).prepared
    assert [(result.host, result.alternates) for result in answered] == [("h0/n", ("h1/n", "h2/n")), ("h3/n", ())]


def test_shadow_batch_with_an_intent_without_candidates_is_refused():
    world = ShadowWorld()
    intents = [Intent("c-1", 1, [Candidate("h0/n")]), Intent("c-2", 1, [])]
    answer = ShadowClaimer(world.store).prepare(
        ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, 1, 1, ttl_ms=1000)
    )
    assert not answer.accepted
    assert [result.host for result in answer.prepared] == [None, None]
    assert world.record["outcome"] == "refused"


def test_shadow_chunks_are_decided_on_the_same_state():
    world = ShadowWorld({f"h{number}/n": node() for number in range(30)})  # capacity for 120
    consumers = [f"c-{number}" for number in range(110)]
    with pytest.raises(errors.NotClaimed) as caught:
        world.ask(*consumers)
    assert len(caught.value.kwargs["hosts"]) == 110
    assert world.nothing_happened()


def test_shadow_mode_respects_group_members_from_audits():
    world = ShadowWorld()
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    select(world.claiming, SelectionCall(request(group=group), ("member",)))
    (member,) = world.store.claims()[0]
    with pytest.raises(errors.NotClaimed) as caught:
        world.ask("c-1", "c-2", "c-3", group=group)
    assert len(set(caught.value.kwargs["hosts"]) | {member.host}) == 4


def test_shadow_mode_claims_no_alternates():
    world = ShadowWorld()
    alternates = ShadowAlternateClaimer(CurrentPolicy(FILTER_POLICY), world.store, world.sight, 1.0)
    batch = ClaimBatch("req-2", "p", "u", SMALL_REQUEST, [], 1, 1, ttl_ms=1000)
    with pytest.raises(errors.NotClaimed, match="req-2"):
        alternates.prepare(context.new("p", "u"), request(), batch)
    assert isinstance(alternates, AlternateClaimer)
    assert world.nothing_happened()


def test_every_call_of_a_shadow_batch_is_answered_with_not_claimed():
    world = ShadowWorld()
    calls = [SelectionCall(request(), (f"c-{number}",)) for number in range(2)]
    outcomes = BatchSelector(world.shadow).select_batch(FILTER_POLICY, context.new("p", "u"), calls)
    assert [type(outcome) for outcome in outcomes] == [errors.NotClaimed] * 2
    assert world.nothing_happened()
