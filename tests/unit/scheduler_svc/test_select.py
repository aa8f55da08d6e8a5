# SPDX-License-Identifier: Apache-2.0
"""The decision and its claim: what is chosen, repeats, deadlines, what is recorded."""

import time
from collections import Counter

import pytest

from rpcapi import context, errors
from scheduler_svc.deciding.select import Patience, Selector
from scheduler_svc.store.records import Ref
from tests.unit.scheduler_svc.hosts import ASKED, node, request
from tests.unit.scheduler_svc.selecting import World, asked, select
from tests.unit.scheduler_svc.sights import filter_driver


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
        name_for = selector.driver.name_for

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
    caplog.set_level("WARNING", logger="scheduler_svc.deciding.select")
    world = World()
    selector, sight = world.selector()

    def record(request_id, document):
        raise errors.StoreUnavailable(why="it is away")

    selector = Selector(world.store, sight, filter_driver(), Patience(), record)
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(selector, asked(asks=request(force_hosts=("h9",))))
    assert "Cannot record why request req-1 was refused" in caplog.text


def test_an_answered_request_is_told_to_who_debugs_and_not_in_the_log_of_each_day(caplog):
    caplog.set_level("DEBUG", logger="scheduler_svc.deciding.select")
    selector, _ = World().selector()
    select(selector, asked(3))
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [("DEBUG", "Selected hosts for 3 instances in 1 rounds")]
