# SPDX-License-Identifier: Apache-2.0
"""The driver 'solver' on tables."""

from dataclasses import replace

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.core.drivers.driver import RankRequest
from scheduler_svc.core.drivers.solver import batch_problem, driver, identical_calls
from scheduler_svc.core.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node
from tests.support.scheduler.placements import AMPLE_S, AMPLE_WORK
from tests.support.scheduler.replica_views import filter_driver

READS = filter_driver().reads


def flat(*sizes):
    return hosts.table({f"h{number}": node({"VCPU": size}) for number, size in enumerate(sizes)}, reads=READS)


def with_tree(*sizes):
    """Return a table of flat hosts, and one with its processors in a NUMA cell."""
    nodes = {f"h{number}": node({"VCPU": size}) for number, size in enumerate(sizes)} | {"tree": node({"DISK_GB": 9})}
    snapshot = hosts.snapshot(nodes)
    cell = hosts.provider("tree/numa0", node({"VCPU": 99})) | {"root": "tree", "parent": "tree"}
    return HostTable.from_snapshot(replace(snapshot, providers=snapshot.providers | {"tree/numa0": cell}), reads=READS)


def calls(*sizes, **more):
    return [
        RankRequest(SchedulingRequest(f"req-{number}", {"VCPU": size}, **more), 1, number)
        for number, size in enumerate(sizes)
    ]


def rank_batch(table, requests, **bounds):
    with table.reading() as view:
        pending = SolverDriver(
            filter_driver(), SolverLimits(**({"packs": True, "work": AMPLE_WORK, "limit_s": AMPLE_S} | bounds))
        ).rank_batch(view, requests)
    return pending()


def test_alternates_have_capacity_beside_the_batch():
    batch = rank_batch(flat(4, 4, 2), calls(4, 2))
    (large,), (small,) = (ranking.candidates for ranking in batch.rankings)
    # The large call has no other host that fits; the small one has those with capacity beside the batch
    assert large in (["h0"], ["h1"], ["h0", "h1"], ["h1", "h0"])
    assert small[0] == "h2"
    assert len(small) == 2 and small[1] not in large[:1]


def test_decision_record_describes_the_batch():
    ranking = rank_batch(flat(4, 3), calls(3, 4)).rankings[0]
    assert ranking.batch == {
        "calls": 2,
        "served": 2,
        "served_one_by_one": 2,
        "is_most": True,
        "objective": "pack",
        "ms": ranking.batch["ms"],
    }
    assert ranking.hosts == 2
    assert [entry["name"] for entry in ranking.best] == ranking.candidates[0][:1]


def test_too_large_batch_is_not_solved():
    batch = rank_batch(flat(4, 4), calls(1, 2, 9), max_pairs=3)
    assert [ranking is None for ranking in batch.rankings] == [True, True, False]
    assert batch.unbatched == {driver.REASON_TOO_LARGE: 2}
    # The refusal of a call that no host fits is kept
    assert batch.rankings[2].reasons == {"not enough VCPU": 2}


@pytest.mark.parametrize(("bounds", "stop_reason"), [({"limit_s": 0.0}, "time"), ({"work": 0}, "work")])
def test_greedy_placement_is_used_and_counted_when_a_limit_is_reached(bounds, stop_reason):
    batch = rank_batch(flat(4, 4), calls(1, 2), **bounds)
    assert all(ranking.candidates for ranking in batch.rankings)
    assert [ranking.batch["stop_reason"] for ranking in batch.rankings] == [stop_reason] * 2
    assert batch.unbatched == {driver.REASON_CUT: 2}


def test_call_that_does_not_fit_beside_the_batch_is_decided_on_its_own():
    batch = rank_batch(flat(4), calls(3, 3))
    assert sorted(ranking is None for ranking in batch.rankings) == [False, True]
    assert batch.unbatched == {driver.REASON_NO_CAPACITY: 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"groups": (RequestGroup("_gpu", {"VGPU": 1}),)},
        {"numa": {"cells": [{"id": 0}]}},
        {"volumes": ({"size_gb": 1},)},
        {"ports": ({"physical_network": "a"},)},
    ],
)
def test_requests_that_need_the_tree_search_are_not_solved(fields):
    requests = [*calls(1), RankRequest(SchedulingRequest("req-9", {"VCPU": 1}, **fields), 1, 9)]
    batch = rank_batch(flat(4), requests)
    assert batch.rankings[0] is not None and batch.rankings[1] is None
    assert batch.unbatched == {identical_calls.REASON_PARTS: 1}
    assert not SolverDriver(filter_driver(), SolverLimits()).batches(requests[1].request)


def test_nested_hosts_are_left_out_if_other_hosts_suffice():
    batch = rank_batch(with_tree(4, 4), calls(1, 2))
    assert {name for ranking in batch.rankings for name in ranking.candidates[0]} <= {"h0", "h1"}
    # If nested hosts are needed, the calls are left to the tree search
    batch = rank_batch(with_tree(4), calls(1, 2))
    assert batch.rankings == [None, None]
    assert batch.unbatched == {batch_problem.REASON_SCATTERED: 2}


@pytest.mark.parametrize(("objective", "first"), [("pack", "h1"), ("spread", "h0")])
def test_objective_sets_the_sign_of_weighers(conf, objective, first):
    scheduler_conf.register_opts(conf)
    conf.set_override("objective", objective, group="solver")
    conf.set_override("free_share_weight_multiplier", -3.0, group="filter_scheduler")
    driver = drivers.solver_driver(conf)
    table = hosts.table({"h0": node(), "h1": node()}, used={"h1": {"VCPU": 1, "MEMORY_MB": 1024}}, reads=driver.reads)
    with table.reading() as view:
        assert driver.rank(view, hosts.request(), 1, 1).candidates[0][0] == first
        pending = driver.rank_batch(view, [RankRequest(hosts.request(), 1, 1)])
    assert pending().rankings[0].candidates[0][0] == first
