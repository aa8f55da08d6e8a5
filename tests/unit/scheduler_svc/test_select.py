# SPDX-License-Identifier: Apache-2.0
"""The decision and its claim: rounds, compensation, repeats, deadlines."""

import threading
import time
from collections import Counter
from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.model.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.asked import Asked
from scheduler_svc.select import Patience, Selector
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import BatchAnswer, Group, Prepared, Ref
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import ASKED, node, request
from tests.unit.scheduler_svc.sights import FollowingSight, filter_driver

FOUR = {f"h{number}/n": node() for number in range(4)}  # room for 4 instances each


class World:
    """A memory store with hosts, and selectors that each have a table of their own."""

    def __init__(self, nodes=FOUR):
        self.store = MemoryStore("p")
        hosts.join(self.store, nodes)

    def selector(self, claimer=None, **patience):
        sight = FollowingSight(self.store)
        return Selector(claimer or self.store, sight, filter_driver(), Patience(**patience)), sight

    def live(self):
        return self.store.claims()[0]


def asked(count=1, first=0, asks=None, **more):
    return Asked(asks or request(), [f"vm-{number}" for number in range(first, first + count)], **more)


def select(selector, wish, ctxt=None):
    return selector.select(ctxt or context.new("p", "u"), wish)


def test_an_instance_gets_a_host_a_claim_and_alternates():
    world = World()
    selector, _ = world.selector()
    decided = select(selector, asked(alternates=2))
    (claim,) = world.live()
    (one,) = decided.prepared
    assert (claim.consumer, claim.attempt, claim.state) == ("vm-0", 1, "prepared")
    assert claim.allocations == {claim.host: ASKED}
    assert (claim.project, claim.user, claim.request_id) == ("p", "u", "req-1")
    assert one.host == claim.host
    assert len({one.host, *one.alternates}) == 3


def test_the_table_knows_its_own_claim_at_once():
    world = World({"a": node(), "b": node()})
    selector, sight = world.selector()
    chosen = [select(selector, asked(first=number)).prepared[0].host for number in range(8)]
    assert Counter(chosen) == {"a": 4, "b": 4}
    assert [set(chosen[pair : pair + 2]) for pair in (0, 2, 4, 6)] == [{"a", "b"}] * 4
    assert sight.reached == []


def test_a_repeated_call_is_answered_what_it_was_answered_even_when_all_is_full():
    world = World({"a": node()})
    selector, sight = world.selector()
    first = select(selector, asked(4)).prepared
    sight.reach(world.store.snapshot().position, 1)
    again = select(selector, asked(4)).prepared
    assert [one.host for one in again] == [one.host for one in first]
    assert len(world.live()) == 4
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(first=4))


def test_a_refusal_counts_reasons_and_is_recorded():
    world = World()
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost, match="No valid host: 4 not enough VCPU") as caught:
        select(selector, asked(asks=request({"VCPU": 100})))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 4}
    record = world.store.find_decision("req-1")
    assert (record["outcome"], record["reasons"], record["hosts"]) == ("refused", {"not enough VCPU": 4}, 4)
    assert record["spec"] == {"resources": {"VCPU": 100}}


def test_an_empty_partition_says_so():
    selector, _ = World({}).selector()
    with pytest.raises(errors.NoValidHost, match="no host has reported"):
        select(selector, asked())


def test_a_decision_is_recorded_with_what_it_was_made_on():
    world = World()
    selector, sight = world.selector()
    before = sight.table.position
    select(selector, asked(asks=request(required_traits=())))
    record = world.store.find_decision("req-1")
    assert record["position"] == before
    assert record["seed"] == request().seed
    assert record["verdicts"][0]["tried"][0][1] == "FITS"
    assert len(record["best"]) == 4


def test_the_loser_of_a_race_takes_the_next_candidate_in_the_same_round():
    world = World({"a": node(), "b": node({"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 100})})
    slow, sight = world.selector()
    quick, _ = world.selector()
    select(quick, asked(4, first=10, asks=request(force_hosts=("a",))))
    assert select(slow, asked()).prepared[0].host == "b"
    assert sight.reached == []


def test_all_candidates_lost_means_looking_again_at_least_as_fresh():
    nodes = {f"h{number:02}": node({"VCPU": 2 if number < 16 else 1}) for number in range(20)}
    best = tuple(nodes)[:16]
    world = World(nodes)
    slow, sight = world.selector()
    quick, _ = world.selector()
    select(quick, asked(32, first=10, asks=request({"VCPU": 1}, force_hosts=best)))
    decided = select(slow, asked(asks=request({"VCPU": 1})))
    assert decided.prepared[0].host not in best
    assert len(sight.reached) == 1
    assert decided.position >= sight.reached[0]


class Refusing:
    """A claimer to whom all is taken, whatever is asked."""

    def __init__(self, verdict=Verdict.CONCURRENT, current=True):
        self.verdict = verdict
        self.current = current
        self.batches = []

    def prepare(self, batch):
        self.batches.append(batch)
        prepared = [
            Prepared(
                one.consumer, one.attempt, Answer.REFUSED, verdicts=[self.verdict] * len(one.candidates) * self.current
            )
            for one in batch.intents
        ]
        return BatchAnswer(False, self.current, batch.epoch, batch.position, prepared)

    def abort(self, refs):
        raise AssertionError("nothing was claimed")


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.CONCURRENT, "4 claimed by others meanwhile"),
        (Verdict.STALE, "4 changed meanwhile"),
        (Verdict.CLOSED, "4 not audited in this epoch"),
    ],
)
def test_a_claimer_that_always_refuses_is_asked_a_bounded_number_of_times(verdict, reason):
    refusing = Refusing(verdict)
    selector, _ = World().selector(refusing, rounds=3)
    with pytest.raises(errors.NoValidHost, match=reason):
        select(selector, asked())
    assert [batch.record["round"] for batch in refusing.batches] == [0, 1, 2]
    assert len({batch.record["seed"] for batch in refusing.batches}) == 3


@pytest.mark.parametrize(("patience", "left", "most"), [(2.0, None, 2.0), (2.0, 60.0, 2.0), (900.0, 60.0, 60.0)])
def test_waiting_for_news_ends_with_patience_or_the_deadline(patience, left, most):
    selector, sight = World().selector(Refusing(), rounds=2, catch_up_s=patience)
    ctxt = context.new() if left is None else context.new().within(left)
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(), ctxt)
    assert len(sight.waited) == 2
    assert most / 2 < max(sight.waited) <= most


class Failing:
    """A claimer whose store goes away after the first chunk."""

    def __init__(self, store):
        self.store = store
        self.prepared = 0

    def prepare(self, batch):
        self.prepared += 1
        if self.prepared > 1:
            raise errors.StoreUnavailable(why="gone")
        return self.store.prepare(batch)

    def abort(self, refs):
        raise errors.StoreUnavailable(why="still gone")


def test_after_an_outage_amid_a_large_request_asking_again_finds_what_was_claimed():
    world = World({f"h{number:02}": node() for number in range(60)})
    selector, _ = world.selector(Failing(world.store))
    with pytest.raises(errors.StoreUnavailable, match="gone"):
        select(selector, asked(150))
    held = {claim.consumer: claim.host for claim in world.live()}
    assert len(held) == 100
    selector, _ = world.selector()
    hosts_given = [one.host for one in select(selector, asked(150)).prepared]
    assert hosts_given[:100] == [held[f"vm-{number}"] for number in range(100)]


def test_a_refusal_that_cannot_be_undone_now_is_still_the_refusal():
    world = World({f"h{number:02}": node() for number in range(30)})
    claimer = Failing(world.store)
    claimer.prepared = -10
    selector, _ = world.selector(claimer)
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(121))
    assert {claim.state for claim in world.live()} == {"prepared"}  # until their deadline


def test_a_large_request_whose_deadline_passes_half_way_is_finished():
    world = World({f"h{number:02}": node() for number in range(60)})
    ctxt = context.new(deadline=time.time() + 60)

    class Slow(Failing):
        def prepare(self, batch):
            ctxt.deadline = time.time() - 1
            return self.store.prepare(batch)

    selector, _ = world.selector(Slow(world.store))
    assert len(select(selector, asked(150), ctxt).prepared) == 150


def test_hosts_that_the_group_rules_out_are_not_offered_again():
    refusing = Refusing(Verdict.GROUP)
    nodes = {f"h{number:02}": node() for number in range(20)}
    selector, _ = World(nodes).selector(refusing, rounds=3)
    with pytest.raises(errors.NoValidHost, match="20 server group policy"):
        select(selector, asked())
    offered = [{candidate.host for candidate in batch.intents[0].candidates} for batch in refusing.batches]
    assert [len(each) for each in offered] == [16, 4, 0]
    assert not offered[0] & offered[1]


def test_an_epoch_that_this_worker_has_not_read_is_not_a_lack_of_hosts():
    selector, _ = World().selector(Refusing(current=False), rounds=2)
    with pytest.raises(errors.NotReady, match="new epoch"):
        select(selector, asked())


def test_a_new_epoch_closes_hosts_until_they_are_audited():
    world = World()
    selector, sight = world.selector()
    epoch = world.store.bump()
    with pytest.raises(errors.NoValidHost, match="4 not audited in this epoch"):
        select(selector, asked())
    assert sight.table.epoch == epoch
    world.store.audit("h2", epoch, [], 0)
    sight.reach(world.store.snapshot().position, 1)
    assert select(selector, asked()).prepared[0].host == "h2/n"


def test_a_host_disabled_meanwhile_is_not_taken():
    world = World({"a": node(), "b": node()})
    selector, _ = world.selector()
    for name in ("a", "b"):
        version, _document = world.store.get_state("service", name)
        world.store.put_state("service", name, version, {"enabled": False})
    with pytest.raises(errors.NoValidHost, match="2 service disabled"):
        select(selector, asked())


def test_a_large_request_is_claimed_in_chunks():
    world = World({f"h{number:02}": node() for number in range(60)})
    selector, _ = world.selector()
    decided = select(selector, asked(230))
    assert len(decided.prepared) == len(world.live()) == 230
    assert max(Counter(claim.host for claim in world.live()).values()) == 4


@pytest.mark.parametrize(("count", "chunk", "chunks"), [(1, 0, 1), (100, 0, 1), (101, 1, 2), (230, 2, 3)])
def test_the_record_of_a_request_says_which_chunk_of_how_many_it_is_about(count, chunk, chunks):
    world = World({f"h{number:02}": node() for number in range(60)})
    selector, _ = world.selector()
    select(selector, asked(count))
    document = world.store.find_decision("req-1")
    assert (document["instances"], document["chunk"], document["chunks"]) == (count, chunk, chunks)


def test_a_large_request_that_does_not_fit_leaves_nothing_behind():
    world = World({f"h{number:02}": node() for number in range(30)})
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(121))
    assert world.live() == []
    assert world.store.verify().problems == []


def test_what_an_earlier_call_claimed_survives_the_failure_of_a_later_one():
    world = World({f"h{number:02}": node() for number in range(30)})
    selector, sight = world.selector()
    select(selector, asked(100))
    sight.reach(world.store.snapshot().position, 1)
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(121))
    assert len(world.live()) == 100


def test_an_attempt_that_ended_is_not_claimed_again():
    world = World()
    selector, _ = world.selector()
    select(selector, asked())
    world.store.abort([Ref("vm-0", 1)])
    with pytest.raises(errors.ClaimEnded):
        select(selector, asked())
    select(selector, asked(attempt=2))
    with pytest.raises(errors.ClaimConflict):
        select(selector, asked(attempt=3))


def test_a_deadline_that_passed_before_the_decision_claims_nothing():
    world = World()
    selector, _ = world.selector()
    with pytest.raises(errors.DeadlinePassed):
        select(selector, asked(), context.new(deadline=time.time() - 1))
    assert world.live() == []


def test_a_deadline_that_passes_while_deciding_claims_nothing():
    world = World()
    selector, _ = world.selector()
    ctxt = context.new(deadline=time.time() + 60)
    ranking = selector.driver.rank

    class Slow:
        def rank(self, *given):
            ctxt.deadline = time.time() - 1
            return ranking(*given)

    selector.driver = Slow()
    with pytest.raises(errors.DeadlinePassed):
        select(selector, asked(), ctxt)
    assert world.live() == []


def test_a_forced_host_that_nobody_knows_is_told_by_name():
    selector, _ = World().selector()
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(selector, asked(asks=request(force_hosts=("h0", "h9"))))
    assert select(selector, asked(asks=request(force_hosts=("h1",)))).prepared[0].host == "h1/n"


def test_a_forced_host_that_nobody_knows_is_refused_all_the_same_when_that_cannot_be_recorded(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.select")
    world = World()
    selector, sight = world.selector()

    def record(request_id, document):
        raise errors.StoreUnavailable(why="it is away")

    selector = Selector(world.store, sight, filter_driver(), Patience(), record)
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(selector, asked(asks=request(force_hosts=("h9",))))
    assert "Cannot record why request req-1 was refused" in caplog.text


def test_affinity_puts_all_instances_on_one_host():
    world = World()
    selector, _ = world.selector()
    together = request(group=Group("g", GroupPolicy.AFFINITY))
    decided = select(selector, asked(4, asks=together))
    assert len({one.host for one in decided.prepared}) == 1


def test_affinity_finds_the_groups_host_whatever_others_score():
    nodes = {f"h{number:02}": node({"VCPU": 8 + number}) for number in range(40)}
    world = World(nodes)
    selector, _ = world.selector()
    one = request({"VCPU": 1}, group=Group("g", GroupPolicy.AFFINITY))
    select(selector, asked(asks=replace(one, force_hosts=("h00",))))
    assert select(selector, asked(3, first=1, asks=one)).prepared[2].host == "h00"
    with pytest.raises(errors.NoValidHost, match="39 server group policy, 1 not enough VCPU"):
        select(selector, asked(first=4, asks=replace(one, resources={"VCPU": 5})))


def test_anti_affinity_finds_the_last_host_that_has_none_of_a_large_group():
    nodes = {f"h{number:02}": node({"VCPU": 100 - number}) for number in range(60)}
    world = World(nodes)
    selector, _ = world.selector()
    apart = request({"VCPU": 1}, group=Group("g", GroupPolicy.ANTI_AFFINITY))
    select(selector, asked(59, asks=apart))
    assert select(selector, asked(first=59, asks=apart)).prepared[0].host == "h59"


def test_anti_affinity_finds_room_beside_what_the_group_has():
    world = World({f"h{number:02}": node() for number in range(20)})
    selector, _ = world.selector()
    apart = request(group=Group("g", GroupPolicy.ANTI_AFFINITY))
    chosen = [select(selector, asked(first=number, asks=replace(apart, id=f"r{number}"))) for number in range(20)]
    assert len({one.prepared[0].host for one in chosen}) == 20
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(first=20, asks=apart))


def test_selectors_that_race_on_one_store_never_overcommit():
    world = World({f"h{number}": node() for number in range(25)})  # room for 100
    refused = Counter()

    def work(name):
        selector, _ = world.selector(rounds=10)
        for number in range(40):
            wish = Asked(replace(request(), id=f"{name}-{number}"), [f"{name}-{number}"])
            try:
                select(selector, wish)
            except errors.NoValidHost:
                refused[name] += 1

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = world.store.verify()
    assert (found.problems, found.excess) == ([], [])
    assert len(world.live()) == 100
    assert sum(refused.values()) == 60


def test_an_answered_request_is_told_in_the_log(caplog):
    caplog.set_level("INFO", logger="scheduler_svc.select")
    selector, _ = World().selector()
    select(selector, asked(3))
    assert [record.getMessage() for record in caplog.records] == ["Selected hosts for 3 instances in 1 rounds"]
