# SPDX-License-Identifier: Apache-2.0
"""Claims on the alternates of an older decision."""

from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.model.claims import Answer, Verdict
from rpcapi.model.groups import RequestGroup
from rpcapi.model.trees import SHARING_TRAIT
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.deciding.alternates import AlternateClaimer, PreparedChunk
from scheduler_svc.endpoints import encode
from scheduler_svc.filters import pipeline
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import BatchAnswer, Candidate, ClaimBatch, Intent, IntentResult
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import SMALL_REQUEST, node, request
from tests.unit.scheduler_svc.sights import FollowingReplicaView


class World:
    def __init__(self):
        self.store = MemoryStore("p")
        hosts.join(self.store, {"a": node(), "b": node(), "c": node()})
        self.sight = FollowingReplicaView(self.store)
        filters = pipeline.build_eligibility(DEFAULT_FILTERS)
        self.alternates = AlternateClaimer(self.store, self.sight, filters, catch_up_s=1.0)
        self.decided_on = self.sight.table.position
        self.epoch = self.sight.table.epoch

    def prepare(self, *names, attempt=1, replaces=None, asked=None, ctxt=None, consumer="vm"):
        intent = Intent(consumer, attempt, [Candidate(name) for name in names], replaces)
        batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, [intent], self.epoch, self.decided_on, ttl_ms=60_000)
        (served,) = self.alternates.prepare(ctxt or context.new(), asked or request(), batch)
        return served.answer.prepared[0]

    def touch(self, host, **changes):
        version, _ = self.store.get_state("service", host)
        self.store.put_state("service", host, version, changes)


def test_the_first_that_takes_it_is_claimed_in_place_of_the_old_attempt():
    world = World()
    assert world.prepare("a").host == "a"
    again = world.prepare("b", "c", attempt=2, replaces=1)
    assert (again.answer, again.host) == (Answer.PREPARED, "b")
    assert [claim.host for claim in world.store.claims()[0]] == ["b"]
    assert world.sight.reached == []


def test_a_candidate_that_changed_and_is_still_right_is_taken_on_a_second_look():
    world = World()
    world.touch("b", enabled=False)
    world.touch("b", enabled=True)
    assert world.prepare("b").host == "b"
    assert len(world.sight.reached) == 1


def test_a_candidate_that_changed_for_the_worse_is_not():
    world = World()
    world.touch("b", enabled=False)
    one = world.prepare("b")
    assert (one.answer, one.verdicts) == (Answer.REFUSED, ())
    assert world.store.claims()[0] == []


def test_candidates_that_are_just_full_are_not_looked_at_again():
    world = World()
    for number in range(4):
        assert world.prepare("a", consumer=f"vm{number}").host == "a"
    one = world.prepare("a", consumer="late")
    assert (one.answer, one.verdicts) == (Answer.REFUSED, (Verdict.CONCURRENT,))
    assert world.sight.reached == []


def test_what_changed_is_passed_over_where_another_fits():
    world = World()
    world.touch("b", enabled=False)
    assert world.prepare("b", "c").host == "c"
    assert world.sight.reached == []


def test_after_a_new_epoch_an_audited_candidate_is_still_good():
    world = World()
    epoch = world.store.begin_epoch()
    world.store.audit("c", epoch, [], 0)
    assert world.prepare("b", "c").host == "c"


def test_after_a_new_epoch_a_candidate_that_waits_for_its_audit_is_told_apart_from_one_that_is_wrong():
    world = World()
    world.touch("b", enabled=False)
    world.store.begin_epoch()
    one = world.prepare("b", "c")
    assert (one.answer, one.verdicts) == (Answer.REFUSED, (Verdict.CLOSED,))


FULL, CLOSED, FITS = Verdict.FULL, Verdict.CLOSED, Verdict.FITS


@pytest.mark.parametrize(
    ("verdicts", "current", "answer"),
    [
        ((FULL, CLOSED), True, "closed"),
        ((CLOSED, CLOSED), True, "closed"),
        ((), False, "closed"),  # asked in an epoch that is over
        ((FULL, FULL), True, "refused"),
        ((CLOSED, FITS), True, "refused"),  # for the sake of another instance of the batch
        ((), True, "refused"),
    ],
)
def test_a_refusal_that_an_audit_may_change_is_answered_closed(
    verdicts: tuple[Verdict, ...], current: bool, answer: str
):
    one = IntentResult("vm", 2, Answer.REFUSED, verdicts=verdicts)
    asked = PreparedChunk([Intent("vm", 2, [Candidate("a"), Candidate("b")])], BatchAnswer(False, current, 1, 1, [one], {}))
    told = encode.prepare_answers([asked])
    assert told.answers == [answer]
    assert told.reasons[0]


def test_an_unknown_candidate_is_refused():
    world = World()
    world.store.begin_epoch()
    assert world.prepare("nowhere").answer is Answer.REFUSED


def test_no_second_look_past_the_deadline():
    world = World()
    world.touch("b", enabled=False)
    ctxt = context.new(deadline=1.0)
    with pytest.raises(errors.DeadlinePassed):
        world.prepare("b", ctxt=ctxt)


def test_more_than_a_script_takes_is_served_hundred_by_hundred():
    world = World()  # room for 12
    roomy = {f"big{number}": node({"VCPU": 100, "MEMORY_MB": 500_000, "DISK_GB": 5000}) for number in range(3)}
    hosts.join(world.store, roomy)
    names = ["big0"] * 50 + ["big1"] * 50 + ["a"] * 5
    intents = [Intent(f"vm{number}", 1, [Candidate(name)]) for number, name in enumerate(names)]
    position = world.store.state.position
    batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, intents, world.epoch, position, ttl_ms=60_000)
    served = world.alternates.prepare(context.new(), request(), batch)
    assert [len(asked.answer.prepared) for asked in served] == [100, 5]
    assert [asked.answer.accepted for asked in served] == [True, False]  # "a" takes 4
    again = world.alternates.prepare(context.new(), request(), batch)
    assert [[one.host for one in asked.answer.prepared] for asked in again] == [
        [one.host for one in asked.answer.prepared] for asked in served
    ]


def test_nothing_asked_is_refused():
    world = World()
    batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, [], world.epoch, world.decided_on, ttl_ms=60_000)
    with pytest.raises(errors.InvalidRequest):
        world.alternates.prepare(context.new(), request(), batch)


GPU = "CUSTOM_GPU"


def behind(store, sight, allowed=lambda request: request):
    """Return alternates for whom ``allowed`` makes requests ready, on a table that is what ``sight`` has read."""
    filters = pipeline.build_eligibility(DEFAULT_FILTERS)
    return AlternateClaimer(store, sight, filters, catch_up_s=1.0, rewrite=allowed)


def claimed(store, alternates, asked, *names, attempt=1):
    intent = Intent("vm", attempt, [Candidate(name) for name in names], attempt - 1 or None)
    at = store.state
    batch = ClaimBatch("r", "p", "u", asked.resources, [intent], at.epoch, at.position, ttl_ms=60_000)
    alternates.prepare(context.new(), asked, batch)
    return {name: dict(its) for claim in store.claims()[0] for name, its in claim.allocations.items()}


def test_trees_give_what_a_rewritten_request_may_have():
    """A project that is kept to its aggregates is given nothing of another's pool."""
    pool = node({"DISK_GB": 100}, [SHARING_TRAIT]) | {"kind": "volume"}
    store = MemoryStore("p", namespaces=("aggregate",))
    hosts.join(store, {"a": node({"VCPU": 8}), "pool1": pool, "pool2": pool})
    for name, members in (("rack", ["a", "pool1", "pool2"]), ("mine", ["a", "pool2"])):
        store.put_state("aggregate", name, 0, {"name": name, "hosts": members, "metadata": {}})
    sight = FollowingReplicaView(store, {"aggregate": frozenset({"hosts", "metadata"})})
    alternates = behind(store, sight, lambda asked: replace(asked, member_of=(("mine",),)))
    given = claimed(store, alternates, request({"VCPU": 1, "DISK_GB": 10}), "a")
    assert given == {"a": {"VCPU": 1}, "pool2": {"DISK_GB": 10}}


def test_a_pool_that_is_full_with_the_attempt_before_is_not_full_for_the_next():
    pool = node({"DISK_GB": 15}, [SHARING_TRAIT]) | {"kind": "volume"}
    store = MemoryStore("p", namespaces=("aggregate",))
    hosts.join(store, {"a": node({"VCPU": 8}), "b": node({"VCPU": 8}), "pool": pool})
    store.put_state("aggregate", "rack", 0, {"name": "rack", "hosts": ["a", "b", "pool"], "metadata": {}})
    sight = FollowingReplicaView(store, {"aggregate": frozenset({"hosts", "metadata"})})
    asked = request({"VCPU": 1}, groups=(RequestGroup("_volume0", {"DISK_GB": 10}),))
    claimed(store, behind(store, sight), asked, "a")
    sight.reach(store.state.position, 1)
    given = claimed(store, behind(store, sight), asked, "b", attempt=2)
    assert given == {"b": {"VCPU": 1}, "pool": {"DISK_GB": 10}}


def test_a_tree_that_this_worker_has_not_read_yet_is_looked_at_again():
    store = MemoryStore("p")
    hosts.join(store, {"a": node(), "b": node(), "b/gpu0": node({GPU: 1}) | {"parent": "b"}})
    sight = FollowingReplicaView(store)
    hosts.join(store, {"a": node(), "a/gpu0": node({GPU: 1}) | {"parent": "a"}}, sequence=2)
    asked = request({"VCPU": 1}, groups=(RequestGroup("_0", {GPU: 1}),))
    given = claimed(store, behind(store, sight), asked, "a")
    assert given == {"a": {"VCPU": 1}, "a/gpu0": {GPU: 1}}
    assert len(sight.reached) == 1
