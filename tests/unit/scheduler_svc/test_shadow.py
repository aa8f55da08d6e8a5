# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: it decides and records as ever, claims nothing, and says so."""

import pytest

from rpcapi import context, errors
from rpcapi.model.claims import GroupPolicy
from scheduler_svc.deciding.alternates import AlternateClaimer
from scheduler_svc.deciding.asked import SelectionCall
from scheduler_svc.deciding.select import RetryLimits, Selector
from scheduler_svc.deciding.shadow import ShadowAlternateClaimer, ShadowClaimer, ShadowSelector
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import Candidate, ClaimBatch, ClaimGroup, Intent
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import SMALL_REQUEST, node, request
from tests.unit.scheduler_svc.sights import FollowingReplicaView, filter_driver

FOUR = {f"h{number}/n": node() for number in range(4)}  # room for 4 instances each


class World:
    """A store with hosts, one scheduler that claims and one that only looks."""

    def __init__(self, nodes=FOUR):
        self.store = MemoryStore("p")
        hosts.join(self.store, nodes)
        self.before = self.store.state.position
        self.sight = FollowingReplicaView(self.store)
        claiming, looking = (
            Selector(claimer, self.sight, filter_driver(), RetryLimits(), self.store.record_decision)
            for claimer in (self.store, ShadowClaimer(self.store))
        )
        self.claiming, self.shadow = claiming, ShadowSelector(looking)

    def ask(self, *consumers, **more):
        return self.shadow.select(context.new("p", "u"), SelectionCall(request(**more), consumers))

    @property
    def record(self):
        return self.store.find_decision("req-1")

    def nothing_happened(self):
        return not self.store.claims()[0] and self.store.state.position == self.before and not self.store.state.used


def test_it_says_what_it_would_have_chosen_and_claims_nothing():
    world = World()
    with pytest.raises(errors.NotClaimed, match="shadow mode: request req-1 was decided and recorded") as told:
        world.ask("c-1", "c-2")
    assert told.value.kwargs["request_id"] == "req-1"
    assert set(told.value.kwargs["hosts"]) <= set(FOUR)
    assert len(told.value.kwargs["hosts"]) == 2
    assert world.nothing_happened()


def test_it_chooses_what_a_scheduler_that_claims_would_have_chosen():
    world = World(
        {f"h{number}/n": node({"VCPU": 8 + number, "MEMORY_MB": 16384, "DISK_GB": 200}) for number in range(4)}
    )
    with pytest.raises(errors.NotClaimed) as told:
        world.ask("c-1", "c-2")
    shadowed = world.record
    decided = world.claiming.select(context.new("p", "u"), SelectionCall(request(), ("c-1", "c-2")))
    assert told.value.kwargs["hosts"] == [one.host for one in decided.prepared]
    claimed = world.record
    for key in ("driver", "seed", "spec", "hosts", "reasons", "best", "instances"):
        assert shadowed[key] == claimed[key], key


def test_its_record_is_marked_and_names_the_hosts():
    world = World()
    with pytest.raises(errors.NotClaimed) as told:
        world.ask("c-1")
    record = world.record
    assert (record["mode"], record["outcome"]) == ("shadow", "shadow")
    (host,) = told.value.kwargs["hosts"]
    assert record["verdicts"] == [{"consumer": "c-1", "answer": "shadow", "host": host, "tried": []}]
    assert record["best"][0]["name"] == host


def test_what_fits_nowhere_is_refused_as_ever_and_recorded():
    world = World()
    with pytest.raises(errors.NoValidHost, match="4 "):
        world.ask("c-1", resources={"VCPU": 9})
    record = world.record
    assert (record["mode"], record["outcome"]) == ("shadow", "refused")
    assert [(one["consumer"], one["host"]) for one in record["verdicts"]] == [("c-1", None)]
    assert sum(record["reasons"].values()) == 4
    with pytest.raises(errors.UnknownHost):
        world.ask("c-1", force_hosts=("nobody",))
    assert world.nothing_happened()


def test_its_claimer_answers_with_as_many_alternates_as_are_asked_for():
    world = World()
    intents = [Intent("c-1", 1, [Candidate(name) for name in FOUR]), Intent("c-2", 1, [Candidate("h3/n")])]
    batch = ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, 1, 1, ttl_ms=1000, alternates=2)
    answered = ShadowClaimer(world.store).prepare(batch).prepared
    assert [(one.host, one.alternates) for one in answered] == [("h0/n", ("h1/n", "h2/n")), ("h3/n", ())]


def test_a_batch_of_which_one_has_no_candidate_is_refused_as_a_whole():
    world = World()
    intents = [Intent("c-1", 1, [Candidate("h0/n")]), Intent("c-2", 1, [])]
    answer = ShadowClaimer(world.store).prepare(ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, 1, 1, ttl_ms=1000))
    assert not answer.accepted
    assert [one.host for one in answer.prepared] == [None, None]
    assert world.record["outcome"] == "refused"


def test_a_large_request_is_decided_a_hundred_at_a_time_on_the_same_state():
    world = World({f"h{number}/n": node() for number in range(30)})  # room for 120
    consumers = [f"c-{number}" for number in range(110)]
    with pytest.raises(errors.NotClaimed) as told:
        world.ask(*consumers)
    assert len(told.value.kwargs["hosts"]) == 110
    assert world.nothing_happened()


def test_it_keeps_to_the_group_s_members_that_audits_brought_in():
    world = World()
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    world.claiming.select(context.new("p", "u"), SelectionCall(request(group=group), ("member",)))
    (member,) = world.store.claims()[0]
    with pytest.raises(errors.NotClaimed) as told:
        world.ask("c-1", "c-2", "c-3", group=group)
    assert len(set(told.value.kwargs["hosts"]) | {member.host}) == 4


def test_alternates_are_not_claimed_either():
    world = World()
    alternates = ShadowAlternateClaimer(world.store, world.sight, (), 1.0)
    batch = ClaimBatch("req-2", "p", "u", SMALL_REQUEST, [], 1, 1, ttl_ms=1000)
    with pytest.raises(errors.NotClaimed, match="req-2"):
        alternates.prepare(context.new("p", "u"), request(), batch)
    assert isinstance(alternates, AlternateClaimer)
    assert world.nothing_happened()


def test_its_driver_can_be_replaced_while_it_runs():
    world = World()
    fresh = filter_driver()
    world.shadow.driver = fresh
    assert world.shadow.driver is fresh
    assert world.shadow._selector.driver is fresh
