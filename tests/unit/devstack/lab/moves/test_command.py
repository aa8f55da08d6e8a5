# SPDX-License-Identifier: Apache-2.0
"""lab.sh moves: rows, floors, and a tiny run, in which every server arrives. Times are not tested."""

from types import SimpleNamespace

import numpy as np
import pytest

from devstack import confs
from devstack.cluster_size import ClusterSize
from devstack.lab.boot import faults_row
from devstack.lab.moves import scenario
from devstack.lab.moves.command import copy_seconds, drain_rows, evacuation_rows
from devstack.lab.moves.scenario import MovedHosts, PhaseTimes, request_sizes
from tests.support import asking

ARGS = SimpleNamespace(servers=10, hosts=2, memory=2048, parallel=5)


def phase(seconds, duration, count, decisions=0):
    work = {"decisions": decisions, "claims": 2 * decisions, "claim_verbs": 3 * decisions}
    return PhaseTimes(np.full(count, duration), seconds, work)


DRAIN, BOOTS = phase(8.88, 4.44, 10, decisions=20), phase(2.0, 0.5, 20)


def test_moves_are_compared_with_copies_and_boots_of_the_same_run():
    move, drain, drain_work = drain_rows("embedded", ARGS, DRAIN)
    evacuation, all_lost, evacuation_work = evacuation_rows("embedded", ARGS, BOOTS, phase(10.0, 1.0, 20, decisions=20))
    # A server is copied in 2.22 s; ten of them in two turns
    assert [round(row.ratio, 3) for row in (move, drain, evacuation, all_lost)] == [2.0, 2.0, 2.0, 5.0]
    assert (drain_work.ratio, evacuation_work.ratio) == (2.0, 1.0)
    assert evacuation_work.figures == {"decisions_per_s": 2.0, "claims_per_s": 4.0, "claim_verbs_per_s": 6.0}
    assert (all_lost.figures["servers"], all_lost.figures["servers_per_s"]) == (20, 2.0)


def test_faults_miss_the_budget_and_the_first_is_shown():
    amiss = faults_row("moves amiss, rabbit", ["a is ERROR: full", "b"], servers=30)
    assert (amiss.ok, amiss.ratio, amiss.figures) == (False, 2, {"servers": 30, "first": "a is ERROR: full"})
    assert faults_row("moves amiss, rabbit", []).ok


def test_evacuation_in_which_nothing_arrived_has_rows_too():
    evacuation, all_lost, _ = evacuation_rows("embedded", ARGS, BOOTS, phase(10.0, 1.0, 0))
    assert (evacuation.ratio, all_lost.figures["servers_per_s"]) == (0, 0)


@pytest.mark.parametrize("bus", ["embedded", pytest.param("rabbit", marks=pytest.mark.long)])
def test_every_server_arrives_and_all_sides_agree(bus, monkeypatch):
    monkeypatch.setattr(scenario, "DOWN_SECONDS", 8.0)
    sizes = ("--servers", "3", "--per-request", "2", "--hosts", "2", "--memory", "64", "--parallel", "2")
    options = ("--schedulers", "1", "--bus", bus)
    move, drain, _, _, evacuation, work, amiss = asking.run_json("moves", *sizes, *options)
    assert amiss["ratio"] == 0, amiss
    assert (amiss["servers"], amiss["claims"]) == (9, 9)
    assert move["copy_s"] == pytest.approx(0.064)
    assert drain["copies_s"] == pytest.approx(2 * 0.064)
    assert (drain["servers"], evacuation["servers"]) == (3, 6)
    assert evacuation["servers_per_s"] == pytest.approx(6 / evacuation["seconds"]), "all six have completed"
    assert work["ratio"] >= 1, "each server needs a decision"


@pytest.mark.parametrize("hosts", [1, 4, 5, 50])
def test_each_host_has_one_part(hosts):
    parts = MovedHosts(hosts)
    assert [parts.drained, *parts.others, *parts.lost_hosts] == parts.names
    assert (len(parts.others), len(parts.lost_hosts)) == (hosts, hosts)


@pytest.mark.parametrize("hosts", [4, 5])
def test_names_are_those_of_a_cluster_of_that_size(hosts):
    """The bus's user of the agents may use these only."""
    names = MovedHosts(hosts).names
    (pattern,) = confs._agent_hosts(ClusterSize(computes=len(names)))
    assert pattern == f"compute[{names[0].removeprefix('compute')}-{names[-1].removeprefix('compute')}]"


@pytest.mark.parametrize(
    ("memory", "seconds"),
    [
        (2048, (2048 - 500) / 900 + 0.5),  # 500 MiB are copied while the guest is stopped for half a second
        (500, 0.5),
        (100, 0.1),
    ],
)
def test_copy_is_that_of_the_documented_formula(memory, seconds):
    assert copy_seconds(memory) == pytest.approx(seconds, abs=0.001)


@pytest.mark.parametrize(
    ("servers", "parallel", "turns"), [(50, 4, 13), (48, 4, 12), (1, 4, 1), (50, 50, 1), (50, 1, 50)]
)
def test_drain_lasts_at_least_its_copies_in_turns(servers, parallel, turns):
    args = SimpleNamespace(servers=servers, hosts=10, memory=2048, parallel=parallel)
    _, drain, _ = drain_rows("embedded", args, DRAIN)
    assert drain.figures["copies_s"] == pytest.approx(turns * copy_seconds(2048))


@pytest.mark.parametrize(
    ("servers", "per_request", "requests"), [(6, 3, [3, 3]), (7, 3, [3, 3, 1]), (2, 3, [2]), (3, 1, [1, 1, 1])]
)
def test_servers_of_a_host_are_booted_by_requests_of_a_size(servers, per_request, requests):
    assert request_sizes(servers, per_request) == requests
