# SPDX-License-Identifier: Apache-2.0
"""Placement in this process, on the memory backend."""

import pytest

from devstack.lab.replay import in_process, policies
from devstack.lab.replay.arrivals import ReplayRequest, ReplayServer
from devstack.lab.replay.scenario import PlacedServer
from tests.support.scheduler.hosts import node

NODES = {f"h{number}/n": node({"VCPU": 4, "MEMORY_MB": 8192}) for number in range(2)}


def request(first, count=1, vcpus=4):
    return ReplayRequest((vcpus, 1024), tuple(ReplayServer(first + number, None) for number in range(count)))


@pytest.fixture
def placer():
    with in_process.in_memory(NODES, policies.load("filter")) as created:
        yield created


def test_servers_are_placed_until_the_hosts_are_full_and_again_after_departures(placer):
    refused = []
    requests = [request(0), request(1), request(2)]
    assignments = placer.place(requests, refused.append)
    assert sorted(hosts[0] for hosts in assignments[:2]) == ["h0/n", "h1/n"]
    assert (assignments[2], refused) == (None, [requests[2]])
    assert placer.seconds > 0
    placer.leave([PlacedServer(requests[0].members[0], assignments[0][0])])
    assert placer.place([request(3)], refused.append) == [assignments[0]]


def test_request_is_placed_completely_or_not_at_all(placer):
    refused = []
    assert placer.place([request(0, count=3)], refused.append) == [None]
    ((hosts),) = placer.place([request(3, count=2)], refused.append)
    assert (sorted(hosts), len(refused)) == (["h0/n", "h1/n"], 1)


def test_claims_are_confirmed_as_by_agents(placer):
    placer.place([request(0)], print)
    claims, _ = placer.store.claims()
    assert [str(claim.state) for claim in claims] == ["confirmed"]
