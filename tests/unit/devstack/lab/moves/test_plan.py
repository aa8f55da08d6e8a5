# SPDX-License-Identifier: Apache-2.0
"""The hosts of lab.sh moves, and the floors of a drain."""

import pytest

from devstack import confs
from devstack.cluster_size import ClusterSize
from devstack.lab.moves.plan import MovesPlan


def plan(servers=50, hosts=10, memory=2048, parallel=4, per_request=5):
    return MovesPlan(servers, hosts, memory, parallel, per_request)


@pytest.mark.parametrize("hosts", [1, 4, 5, 50])
def test_each_host_has_one_part(hosts):
    sizes = plan(hosts=hosts)
    assert [sizes.drained_host, *sizes.other_hosts, *sizes.lost_hosts] == sizes.names
    assert (len(sizes.other_hosts), len(sizes.lost_hosts)) == (hosts, hosts)


@pytest.mark.parametrize("hosts", [4, 5])
def test_names_are_those_of_a_cluster_of_that_size(hosts):
    """The bus's user of the agents may use these only."""
    names = plan(hosts=hosts).names
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
    assert plan(memory=memory).copy_seconds == pytest.approx(seconds, abs=0.001)


@pytest.mark.parametrize(
    ("servers", "parallel", "turns"), [(50, 4, 13), (48, 4, 12), (1, 4, 1), (50, 50, 1), (50, 1, 50)]
)
def test_drain_lasts_at_least_its_copies_in_turns(servers, parallel, turns):
    sizes = plan(servers=servers, parallel=parallel)
    assert sizes.drain_seconds == pytest.approx(turns * sizes.copy_seconds)


@pytest.mark.parametrize(
    ("servers", "per_request", "requests"), [(6, 3, [3, 3]), (7, 3, [3, 3, 1]), (2, 3, [2]), (3, 1, [1, 1, 1])]
)
def test_servers_of_a_host_are_booted_by_requests_of_a_size(servers, per_request, requests):
    assert plan(servers=servers, per_request=per_request).requests == requests
