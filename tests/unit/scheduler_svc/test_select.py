# SPDX-License-Identifier: Apache-2.0
"""The decision and its claim: what is chosen, repeats, deadlines, what is recorded."""

import time
from collections import Counter

import pytest

from rpcapi import context, errors
from scheduler_svc.deciding.select import RetryLimits, Selector
from scheduler_svc.store.records import ClaimRef
from tests.unit.scheduler_svc.hosts import SMALL_REQUEST, node, request
from tests.unit.scheduler_svc.selecting import SelectorWorld, select, selection_call
from tests.unit.scheduler_svc.sights import filter_driver


def test_an_instance_gets_a_host_a_claim_and_alternates():
    world = SelectorWorld()
    selector, _ = world.selector()
    decided = select(selector, selection_call(alternates=2))
    (claim,) = world.live()
    (one,) = decided.prepared
    assert (claim.consumer, claim.attempt, claim.state) == ("vm-0", 1, "prepared")
    assert claim.allocations == {claim.host: SMALL_REQUEST}
    assert (claim.project, claim.user, claim.request_id) == ("p", "u", "req-1")
    assert one.host == claim.host
    assert len({one.host, *one.alternates}) == 3


def test_the_table_knows_its_own_claim_at_once():
    world = SelectorWorld({"a": node(), "b": node()})
    selector, sight = world.selector()
    chosen = [select(selector, selection_call(first=number)).prepared[0].host for number in range(8)]
    assert Counter(chosen) == {"a": 4, "b": 4}
    assert [set(chosen[pair : pair + 2]) for pair in (0, 2, 4, 6)] == [{"a", "b"}] * 4
    assert sight.reached == []


def test_a_repeated_call_is_answered_what_it_was_answered_even_when_all_is_full():
    world = SelectorWorld({"a": node()})
    selector, sight = world.selector()
    first = select(selector, selection_call(4)).prepared
    sight.reach(world.store.snapshot().position, 1)
    again = select(selector, selection_call(4)).prepared
    assert [one.host for one in again] == [one.host for one in first]
    assert len(world.live()) == 4
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(first=4))


def test_a_refusal_counts_reasons_and_is_recorded():
    world = SelectorWorld()
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost, match="No valid host: 4 not enough VCPU") as caught:
        select(selector, selection_call(asks=request({"VCPU": 100})))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 4}
    record = world.store.find_decision("req-1")
    assert (record["outcome"], record["reasons"], record["hosts"]) == ("refused", {"not enough VCPU": 4}, 4)
    assert record["spec"] == {"resources": {"VCPU": 100}}


def test_an_empty_partition_says_so():
    selector, _ = SelectorWorld({}).selector()
    with pytest.raises(errors.NoValidHost, match="no host has reported"):
        select(selector, selection_call())


def test_a_decision_is_recorded_with_what_it_was_made_on():
    world = SelectorWorld()
    selector, sight = world.selector()
    before = sight.table.position
    select(selector, selection_call(asks=request(required_traits=())))
    record = world.store.find_decision("req-1")
    assert record["position"] == before
    assert record["seed"] == request().seed
    assert record["verdicts"][0]["tried"][0][1] == "FITS"
    assert len(record["best"]) == 4


def test_a_new_epoch_closes_hosts_until_they_are_audited():
    world = SelectorWorld()
    selector, sight = world.selector()
    epoch = world.store.begin_epoch()
    with pytest.raises(errors.NoValidHost, match="4 not audited in this epoch"):
        select(selector, selection_call())
    assert sight.table.epoch == epoch
    world.store.audit("h2", epoch, [], 0)
    sight.reach(world.store.snapshot().position, 1)
    assert select(selector, selection_call()).prepared[0].host == "h2/n"


def test_a_host_disabled_meanwhile_is_not_taken():
    world = SelectorWorld({"a": node(), "b": node()})
    selector, _ = world.selector()
    for name in ("a", "b"):
        version, _document = world.store.get_state("service", name)
        world.store.put_state("service", name, version, {"enabled": False})
    with pytest.raises(errors.NoValidHost, match="2 service disabled"):
        select(selector, selection_call())


def test_an_attempt_that_ended_is_not_claimed_again():
    world = SelectorWorld()
    selector, _ = world.selector()
    select(selector, selection_call())
    world.store.abort([ClaimRef("vm-0", 1)])
    with pytest.raises(errors.ClaimEnded):
        select(selector, selection_call())
    select(selector, selection_call(attempt=2))
    with pytest.raises(errors.ClaimConflict):
        select(selector, selection_call(attempt=3))


def test_a_deadline_that_passed_before_the_decision_claims_nothing():
    world = SelectorWorld()
    selector, _ = world.selector()
    with pytest.raises(errors.DeadlinePassed):
        select(selector, selection_call(), context.new(deadline=time.time() - 1))
    assert world.live() == []


def test_a_deadline_that_passes_while_deciding_claims_nothing():
    world = SelectorWorld()
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
        select(selector, selection_call(), ctxt)
    assert world.live() == []


def test_a_forced_host_that_nobody_knows_is_told_by_name():
    selector, _ = SelectorWorld().selector()
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(selector, selection_call(asks=request(force_hosts=("h0", "h9"))))
    assert select(selector, selection_call(asks=request(force_hosts=("h1",)))).prepared[0].host == "h1/n"


def test_a_forced_host_that_nobody_knows_is_refused_all_the_same_when_that_cannot_be_recorded(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.deciding.select")
    world = SelectorWorld()
    selector, sight = world.selector()

    def record(request_id, document):
        raise errors.StoreUnavailable(why="it is away")

    selector = Selector(world.store, sight, filter_driver(), RetryLimits(), record)
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(selector, selection_call(asks=request(force_hosts=("h9",))))
    assert "Cannot record why request req-1 was refused" in caplog.text


def test_an_answered_request_is_told_to_who_debugs_and_not_in_the_log_of_each_day(caplog):
    caplog.set_level("DEBUG", logger="scheduler_svc.deciding.select")
    selector, _ = SelectorWorld().selector()
    select(selector, selection_call(3))
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [("DEBUG", "Selected hosts for 3 instances in 1 rounds")]
