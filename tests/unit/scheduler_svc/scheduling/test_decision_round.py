# SPDX-License-Identifier: Apache-2.0
"""Calls that are decided in one round: ranked and claimed together, spread as one request, each failing alone."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.driver import Ranking
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.scheduling.calls import ServedCall
from scheduler_svc.scheduling.partition_scheduler import LARGEST_IN_ROUND
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import filter_driver
from tests.support.scheduler.schedulers import FakeStore, HostPartition, selection_call
from tests.unit.rpcapi.waiting_calls import SECONDS, wait_until, waiting_calls

ONE_VCPU = {"VCPU": 1}
FIRST = "first"  # the request that opens the first round


class HeldStore(FakeStore):
    """Claims the first packet only when it is released; ``packets`` has the request ids of each."""

    def __init__(self, store):
        super().__init__(store)
        self.packets = []
        self.began, self.release = threading.Event(), threading.Event()
        self.failures = []  # raised instead of the answers to the next packets

    def prepare_all(self, batches, log_after=None):
        self.packets.append([batch.request_id for batch in batches])
        self.began.set()
        assert self.release.wait(SECONDS)
        answers = super().prepare_all(batches, log_after)
        if len(self.packets) > 1 and self.failures:
            raise self.failures.pop()
        return answers


class CountingDriver(FilterDriver):
    """Counts the rankings of each request; fails for requests of a project named "broken"."""

    def __init__(self):
        driver = filter_driver()
        super().__init__(driver.filters, driver.weigher_set)
        self.counts = []

    def rank(self, view, request, count, seed) -> Ranking:
        if request.project == "broken":
            raise errors.PluginFailed(kind="filter", name="Broken", source="tests", why="it always fails")
        self.counts.append(count)
        return super().rank(view, request, count, seed)


class Crowd:
    """A partition whose first round is held, until all further calls wait for the next one."""

    def __init__(self, nodes, first=ONE_VCPU, **limits):
        self.partition = HostPartition(nodes)
        self.store = HeldStore(self.partition.store)
        self.scheduler, self.replica = self.partition.scheduler(self.store, **limits)
        self.driver = CountingDriver()
        self._policy = SchedulingPolicy(self.driver)
        self._pool = ThreadPoolExecutor(128)
        self._futures: list[Future[ServedCall]] = []
        self._start(call(FIRST, first))
        assert self.store.began.wait(SECONDS)
        self.driver.counts.clear()

    def _start(self, selection):
        self._futures.append(self._pool.submit(self.scheduler.select, self._policy, selection))

    def add(self, *calls):
        """Start calls, each once the one before it waits."""
        rounds = self.scheduler._rounds
        for selection in calls:
            before = waiting_calls(rounds)
            self._start(selection)
            wait_until(lambda before=before: waiting_calls(rounds) != before)

    def outcomes(self):
        """Return the result or the error of each call but the first one."""
        self.store.release.set()
        return [future.exception(SECONDS) or future.result() for future in self._futures[1:]]

    def hosts(self):
        return [outcome.prepared[0].host for outcome in self.outcomes()]


def call(name, resources, count=1, **fields):
    selection = selection_call(count, scheduling_request=replace(request(resources, **fields), id=name))
    return replace(selection, consumers=[f"{name}-{number}" for number in range(count)])


def calls(count, resources=None, **fields):
    return [call(f"r{number}", resources or {"VCPU": 2}, **fields) for number in range(count)]


FOUR = {f"h{number}": node({"VCPU": 32}) for number in range(4)}
TWENTY = {f"h{number:02}": node({"VCPU": 32}) for number in range(20)}


def test_alike_calls_are_ranked_once_and_spread_as_one_request_is():
    crowd = Crowd(TWENTY)
    crowd.add(*calls(12))
    together = crowd.hosts()
    assert crowd.store.packets[1:] == [[f"r{number}" for number in range(12)]]
    assert crowd.driver.counts == [12]
    # Given the same hosts and one request for all twelve
    alone = Crowd(TWENTY)
    alone.add(call("r0", {"VCPU": 2}, count=12))
    (outcome,) = alone.outcomes()
    assert together == [prepared.host for prepared in outcome.prepared]
    assert len(set(together)) == 12


def test_unlike_calls_are_ranked_each_and_claimed_together():
    crowd = Crowd(FOUR)
    crowd.add(*calls(2), call("large", {"VCPU": 8}), call("other", {"VCPU": 2}, ignore_hosts=("h0",)))
    hosts = crowd.hosts()
    assert crowd.driver.counts == [2, 1, 1]
    assert len(crowd.store.packets) == 2
    assert hosts[3] != "h0"


def test_calls_of_several_instances_get_their_own_parts():
    crowd = Crowd(TWENTY)
    crowd.add(call("a", {"VCPU": 2}, count=3), call("b", {"VCPU": 2}), call("c", {"VCPU": 2}, count=4))
    outcomes = crowd.outcomes()
    assert crowd.driver.counts == [8]
    assert [len(outcome.prepared) for outcome in outcomes] == [3, 1, 4]
    names = [prepared.host for outcome in outcomes for prepared in outcome.prepared]
    assert len(set(names)) == 8


def test_a_large_call_is_decided_beside_the_round():
    crowd = Crowd(TWENTY)
    crowd._start(call("large", {"VCPU": 1}, count=LARGEST_IN_ROUND + 1))
    wait_until(lambda: len(crowd.store.packets) == 2)
    assert crowd.store.packets == [[FIRST], ["large"]]  # while the first round has not ended
    assert len(crowd.outcomes()[0].prepared) == LARGEST_IN_ROUND + 1


def test_where_not_all_have_room_some_are_served():
    crowd = Crowd({"a": node({"VCPU": 5}), "b": node({"VCPU": 5})})  # one VCPU is the first call's
    crowd.add(*calls(5))
    outcomes = crowd.outcomes()
    served = [outcome for outcome in outcomes if isinstance(outcome, ServedCall)]
    assert len(served) == 4
    assert isinstance(next(o for o in outcomes if o not in served), errors.NoValidHost)
    assert not crowd.partition.store.verify().excess


def test_what_others_plan_to_take_is_no_reason_to_refuse():
    crowd = Crowd({"a": node({"VCPU": 5})})  # one VCPU is the first call's
    crowd.partition.store.abort([ClaimRef("big-0", 1)])  # it has ended before it is decided
    crowd.add(call("big", {"VCPU": 4}), call("small", {"VCPU": 2}))
    big, small = crowd.outcomes()
    assert isinstance(big, errors.ClaimEnded)
    assert small.prepared[0].host == "a"


def test_unlike_calls_do_not_prefer_the_same_host():
    crowd = Crowd({"a": node({"VCPU": 33}), **{f"h{number}": node({"VCPU": 31}) for number in range(3)}})
    crowd.add(*(call(f"r{size}", {"VCPU": size}) for size in (5, 4, 3, 2)))
    assert sorted(crowd.hosts()) == ["a", "h0", "h1", "h2"]


def test_a_refusal_is_found_once_for_alike_calls():
    crowd = Crowd(FOUR, first={"VCPU": 33})  # claims nothing, so the table stays current
    crowd.add(*calls(9, {"VCPU": 33}))
    outcomes = crowd.outcomes()
    assert crowd.driver.counts == [9, 1]
    assert [outcome.kwargs["reasons"] for outcome in outcomes] == [{"not enough VCPU": 4}] * 9
    documents = [crowd.partition.store.find_decision(f"r{number}") for number in range(9)]
    assert all(document["samples"]["not enough VCPU"] for document in documents)


def test_a_call_past_its_deadline_fails_alone_and_claims_nothing():
    crowd = Crowd(FOUR)
    ctxt = context.new("p", "u").with_timeout(0.2)
    crowd.add(replace(call("late", {"VCPU": 2}), ctxt=ctxt))
    crowd.add(*calls(2))
    wait_until(lambda: not ctxt.remaining(1.0))
    late, *others = crowd.outcomes()
    assert isinstance(late, errors.DeadlinePassed)
    assert all(isinstance(outcome, ServedCall) for outcome in others)
    assert crowd.store.packets[1] == ["r0", "r1"]


def test_a_failing_plugin_fails_only_its_own_call():
    crowd = Crowd(FOUR)
    crowd.add(*calls(2), call("broken", {"VCPU": 2}, project="broken"))
    *others, broken = crowd.outcomes()
    assert isinstance(broken, errors.PluginFailed)
    assert all(isinstance(outcome, ServedCall) for outcome in others)


def test_a_lost_race_is_repeated_alone():
    crowd = Crowd({**FOUR, "full": node({"VCPU": 2})})
    other, _ = crowd.partition.scheduler()
    crowd.add(*calls(2), call("loser", {"VCPU": 2}, force_hosts=("full",)))
    other.select(crowd._policy, call("other", {"VCPU": 2}, force_hosts=("full",)))
    *others, loser = crowd.outcomes()
    assert isinstance(loser, errors.NoValidHost)
    assert all(isinstance(outcome, ServedCall) for outcome in others)
    assert crowd.store.packets[1:] == [["r0", "r1", "loser"], ["loser"]]


def test_where_the_outcome_is_unknown_each_call_finds_its_claim_again():
    crowd = Crowd(TWENTY)
    crowd.store.failures.append(errors.StoreUnavailable(why="the answer was lost"))
    crowd.add(*calls(3))
    assert [type(outcome) for outcome in crowd.outcomes()] == [errors.StoreUnavailable] * 3
    claimed = {claim.consumer: claim.host for claim in crowd.partition.live()}
    for number in range(3):
        again = crowd.scheduler.select(crowd._policy, calls(3)[number])
        assert again.prepared[0].host == claimed[f"r{number}-0"]
    assert len(crowd.partition.live()) == 4


@pytest.mark.parametrize(("policy", "spread"), [(GroupPolicy.ANTI_AFFINITY, 3), (GroupPolicy.AFFINITY, 1)])
def test_members_of_a_group_keep_its_policy_in_one_round(policy, spread):
    crowd = Crowd(FOUR)
    crowd.add(*calls(3, group=ClaimGroup("g", policy)))
    assert len(set(crowd.hosts())) == spread
    assert crowd.driver.counts == [3]


def test_projects_take_turns():
    crowd = Crowd(TWENTY)
    for number in range(70):
        crowd.add(replace(call(f"a{number}", {"VCPU": 1}), ctxt=context.new("busy", "u")))
    crowd.add(replace(call("b", {"VCPU": 1}), ctxt=context.new("quiet", "u")))
    assert all(isinstance(outcome, ServedCall) for outcome in crowd.outcomes())
    _, second, *_ = crowd.store.packets
    assert second[:2] == ["a0", "b"]
    assert len(second) == 1 + LARGEST_IN_ROUND


def test_the_record_names_round_and_place_and_replays_alone():
    crowd = Crowd(TWENTY, first={"VCPU": 99})  # it claims nothing
    crowd.add(call("other", {"VCPU": 8}), *calls(3))
    _, before = crowd.partition.scheduler()
    hosts = crowd.hosts()
    documents = [crowd.partition.store.find_decision(name) for name in ("other", "r0", "r1", "r2")]
    assert [document["round"] for document in documents] == [{"index": index, "calls": 4} for index in range(4)]
    assert [document.get("ranked") for document in documents] == [
        None,
        *({"first": number, "instances": 3} for number in range(3)),
    ]
    assert [len(document.get("planned", [])) for document in documents] == [0, 1, 1, 1]
    for document, host in zip(documents[1:], hosts[1:], strict=True):
        assert document["position"] == before.replica.log_position.position
        with before.table.planning() as plan, before.table.reading() as view:
            for claim in document["planned"]:
                plan(*claim)
            contended = request({"VCPU": 2}).with_decision(is_contended="round" in document)
            ranking = filter_driver().rank(view, contended, 3, document["seed"])
        assert ranking.candidates[document["ranked"]["first"]][0] == host


def test_the_record_names_the_latest_own_claim_that_was_judged_ahead_of_the_log():
    crowd = Crowd({"a": node({"VCPU": 32})})
    (outcome,) = (crowd.add(*calls(1)), *crowd.outcomes())[1:]
    document = crowd.partition.store.find_decision("r0")
    assert document["ahead"] == document["answered_position"] - 1 > document["position"]
    assert outcome.position == document["position"]
    assert "ahead" not in crowd.partition.store.find_decision(FIRST)


def test_batch_of_calls_is_placed_in_rounds_of_its_own():
    crowd = Crowd(TWENTY)
    crowd.store.release.set()
    selections = [*calls(40, {"VCPU": 1}), call("none", {"VCPU": 99}), *calls(40, {"VCPU": 1})[30:]]
    outcomes = crowd.scheduler.select_batch(crowd._policy, selections)
    assert sum(isinstance(outcome, ServedCall) for outcome in outcomes) == 50
    assert not isinstance(outcomes[40], ServedCall)
    # The refused call is decided again, because its table lacked the claims of the others.
    assert [len(packet) for packet in crowd.store.packets[1:]] == [51, 1]
    # A repeated consumer gets its claim
    assert [outcome.prepared[0].host for outcome in outcomes[41:]] == [
        outcome.prepared[0].host for outcome in outcomes[30:40]
    ]
