# SPDX-License-Identifier: Apache-2.0
"""The driver 'solver' on tables, and which driver a request is decided by."""

import importlib.util
from dataclasses import replace

import pytest

from rpcapi import errors
from rpcapi.model.groups import RequestGroup
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.drivers import choice
from scheduler_svc.drivers.chance import ChanceDriver
from scheduler_svc.drivers.driver import RankRequest
from scheduler_svc.drivers.solver import alike, driver, survey
from scheduler_svc.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.request import SchedulingRequest
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node
from tests.unit.scheduler_svc.sights import filter_driver

LONG_S = 20.0
READS = filter_driver().reads


def flat(*sizes):
    return hosts.table({f"h{number}": node({"VCPU": size}) for number, size in enumerate(sizes)}, reads=READS)


def with_tree(*sizes):
    """A table of flat hosts, and one more whose processors are in a cell."""
    told = {f"h{number}": node({"VCPU": size}) for number, size in enumerate(sizes)} | {"tree": node({"DISK_GB": 9})}
    found = hosts.snapshot(told)
    cell = hosts.provider("tree/numa0", node({"VCPU": 99})) | {"root": "tree", "parent": "tree"}
    return HostTable.from_snapshot(replace(found, providers=found.providers | {"tree/numa0": cell}), reads=READS)


def calls(*sizes, **more):
    return [RankRequest(SchedulingRequest(f"req-{number}", {"VCPU": size}, **more), 1, number) for number, size in enumerate(sizes)]


def ranked(table, wanted, **bounds):
    with table.reading() as view:
        pending = SolverDriver(filter_driver(), SolverLimits(**({"packs": True, "limit_s": LONG_S} | bounds))).rank_batch(
            view, wanted
        )
    return pending()


def test_others_to_try_have_room_beside_the_batch():
    batch = ranked(flat(4, 4, 2), calls(4, 2))
    (large,), (small,) = (one.candidates for one in batch.rankings)
    # The large one's only other host is full or too small, the small one's are the other two less what was given
    assert large in (["h0"], ["h1"], ["h0", "h1"], ["h1", "h0"])
    assert small[0] == "h2"
    assert len(small) == 2 and small[1] not in large[:1]


def test_the_record_tells_of_the_batch():
    ranking = ranked(flat(4, 3), calls(3, 4)).rankings[0]
    assert ranking.batch == {
        "calls": 2,
        "served": 2,
        "served_one_by_one": 2,
        "is_most": True,
        "objective": "pack",
        "ms": ranking.batch["ms"],
    }
    assert ranking.hosts == 2
    assert [one["name"] for one in ranking.best] == ranking.candidates[0][:1]


def test_a_batch_that_is_too_large_is_left_one_by_one():
    batch = ranked(flat(4, 4), calls(1, 2, 9), max_pairs=3)
    assert [one is None for one in batch.rankings] == [True, True, False]
    assert batch.unbatched == {driver.REASON_TOO_LARGE: 2}
    # What no host takes is known all the same
    assert batch.rankings[2].reasons == {"not enough VCPU": 2}


def test_when_the_time_is_over_they_are_served_one_by_one_and_counted():
    batch = ranked(flat(4, 4), calls(1, 2), limit_s=0.0)
    assert all(one.candidates for one in batch.rankings)
    assert batch.unbatched == {driver.REASON_TIME: 2}


def test_what_has_no_room_beside_the_others_is_left_to_be_decided_by_itself():
    batch = ranked(flat(4), calls(3, 3))
    assert sorted(one is None for one in batch.rankings) == [False, True]
    assert batch.unbatched == {driver.REASON_NO_CAPACITY: 1}


@pytest.mark.parametrize(
    "asked",
    [
        {"groups": (RequestGroup("_gpu", {"VGPU": 1}),)},
        {"numa": {"cells": [{"id": 0}]}},
        {"volumes": ({"size_gb": 1},)},
        {"ports": ({"physical_network": "a"},)},
    ],
)
def test_what_is_searched_for_in_trees_is_not_solved(asked):
    wanted = [*calls(1), RankRequest(SchedulingRequest("req-9", {"VCPU": 1}, **asked), 1, 9)]
    batch = ranked(flat(4), wanted)
    assert batch.rankings[0] is not None and batch.rankings[1] is None
    assert batch.unbatched == {alike.REASON_PARTS: 1}
    assert not SolverDriver(filter_driver(), SolverLimits()).batches(wanted[1].request)


def test_hosts_that_have_it_in_parts_are_left_out_where_others_are_enough():
    batch = ranked(with_tree(4, 4), calls(1, 2))
    assert {name for one in batch.rankings for name in one.candidates[0]} <= {"h0", "h1"}
    # But where they are needed, whoever searches trees decides
    batch = ranked(with_tree(4), calls(1, 2))
    assert batch.rankings == [None, None]
    assert batch.unbatched == {survey.REASON_SCATTERED: 2}


@pytest.mark.parametrize(("objective", "first"), [("pack", "h1"), ("spread", "h0")])
def test_the_objective_turns_the_weighers_round(conf, objective, first):
    scheduler_conf.register_opts(conf)
    conf.set_override("objective", objective, group="solver")
    conf.set_override("ram_weight_multiplier", -3.0, group="filter_scheduler")
    made = SolverDriver.from_conf(conf)
    table = hosts.table({"h0": node(), "h1": node()}, used={"h1": {"VCPU": 1, "MEMORY_MB": 1024}}, reads=made.reads)
    with table.reading() as view:
        assert made.rank(view, hosts.request(), 1, 1).candidates[0][0] == first
        pending = made.rank_batch(view, [RankRequest(hosts.request(), 1, 1)])
    assert pending().rankings[0].candidates[0][0] == first


def test_without_its_package_the_driver_is_refused_with_what_to_install(conf, monkeypatch):
    scheduler_conf.register_opts(conf)
    conf.set_override("drivers", ["solver"], group="scheduler")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.BadConfiguration, match=r"pip install 'gantt\[solver\]'"):
        scheduler_conf.check(conf)
    with pytest.raises(errors.BadConfiguration, match="highspy"):
        choice.load(conf)


def both(conf):
    scheduler_conf.register_opts(conf)
    conf.set_override("drivers", ["chance", "solver"], group="scheduler")
    return choice.load(conf)


def test_a_request_is_decided_by_the_driver_that_it_names(conf):
    made = both(conf)
    assert [made.name_for(hosts.request(driver=name)) for name in (None, "chance", "solver")] == [
        "filter",
        "chance",
        "solver",
    ]
    assert isinstance(made["chance"], ChanceDriver)
    assert [made.batches(hosts.request(driver=name)) for name in (None, "solver")] == [False, True]


def test_a_driver_that_is_not_named_in_the_configuration_is_refused(conf):
    made = both(conf)
    for name in (None, "filter", "solver"):
        made.check(hosts.request(driver=name))
    with pytest.raises(errors.UnknownDriver, match="allowed: filter, chance, solver"):
        made.check(hosts.request(driver="astrology"))
    with pytest.raises(errors.UnknownDriver, match="allowed: none"):
        filter_driver().check(hosts.request(driver="filter"))


def test_each_call_of_a_batch_is_ranked_by_its_own_driver(conf):
    made = both(conf)
    table = hosts.table({"h0": node({"VCPU": 4}), "h1": node({"VCPU": 3})}, reads=made.reads)
    names = ("solver", "chance", "solver")
    wanted = [
        replace(one, request=replace(one.request, driver=name)) for one, name in zip(calls(3, 1, 4), names, strict=True)
    ]
    with table.reading() as view:
        pending = made.rank_batch(view, wanted)
    first, by_chance, last = pending().rankings
    assert by_chance is None
    assert (first.candidates[0][0], last.candidates[0][0]) == ("h1", "h0")


def test_an_unknown_driver_in_the_list_is_refused_at_start(conf):
    scheduler_conf.register_opts(conf)
    conf.set_override("drivers", ["astrology"], group="scheduler")
    with pytest.raises(errors.BadConfiguration, match="drivers: no entry point 'astrology'"):
        scheduler_conf.check(conf)
