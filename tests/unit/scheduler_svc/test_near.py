# SPDX-License-Identifier: Apache-2.0
"""Which candidates are about as good as the best, and what becomes of them when others come between."""

from rpcapi import context
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.deciding.asked import SelectionCall
from scheduler_svc.deciding.select import RetryLimits, Selector
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.filters import pipeline
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import BatchAnswer, ClaimBatch
from scheduler_svc.weighers import scoring
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node, request
from tests.unit.scheduler_svc.sights import FollowingReplicaView

TWO = {"VCPU": 2}


def driver(multiplier: float = 1.0, subset: int = 1) -> FilterDriver:
    return FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build({"CPUWeigher": multiplier}), subset)


def near(each: FilterDriver, *, count: int = 1) -> int:
    nodes = {f"h{free:02}": node({"VCPU": free}) for free in (4, 9, 10, 11, 12)}
    with hosts.table(nodes).reading() as view:
        return each.rank(view, request(TWO), count, 1).near


def test_near_is_what_one_more_instance_would_make_of_the_best() -> None:
    assert near(driver()) == 3  # 12 free, 11, and 10 as the best would have


def test_near_is_the_same_where_fuller_hosts_are_better() -> None:
    assert near(driver(-1.0)) == 1  # 4 free; the next has 9


def test_where_the_choice_is_drawn_or_made_for_many_nothing_is_near() -> None:
    assert (near(driver(subset=2)), near(driver(), count=2)) == (1, 1)


def test_two_that_decide_on_the_same_sight_do_not_take_the_same_host() -> None:
    store = MemoryStore("p")
    hosts.join(store, {name: node({"VCPU": 12}) for name in ("a", "b")})
    workers = [Selector(store, FollowingReplicaView(store), driver(), RetryLimits()) for _ in range(2)]
    given = [_place(worker, f"c{number}") for number, worker in enumerate(workers)]
    assert sorted(given) == ["a", "b"]


def test_what_a_worker_claimed_itself_does_not_turn_it_away() -> None:
    store = MemoryStore("p")
    hosts.join(store, {"large": node({"VCPU": 30}), "small": node({"VCPU": 27})})
    spy = Spy(store)
    worker = Selector(spy, FollowingReplicaView(store), driver(), RetryLimits())
    assert [_place(worker, f"c{number}") for number in range(2)] == ["large", "large"]
    first, second = (batch.intents[0] for batch in spy.batches)
    assert (first.near, second.near) == (1, 2)
    assert second.candidates[0].sums_position > spy.batches[1].position


class Spy:
    """A store that keeps what it was asked to claim."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.batches: list[ClaimBatch] = []

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        self.batches.append(batch)
        return self._store.prepare(batch)

    abort = None
    group_hosts = None


def _place(worker: Selector, consumer: str) -> str | None:
    decided = worker.select(context.new("p", "u"), SelectionCall(request(TWO), [consumer]))
    return decided.prepared[0].host
