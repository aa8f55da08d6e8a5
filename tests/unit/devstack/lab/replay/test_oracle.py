# SPDX-License-Identifier: Apache-2.0
"""The oracle: which servers it places, without a store."""

import pytest

from devstack.lab import hosts as lab_hosts
from devstack.lab.replay import policies
from devstack.lab.replay.arrivals import arrival_batches
from devstack.lab.replay.oracle import Oracle
from tests.unit.devstack.lab.replay.traces import ListTrace, server
from tests.unit.scheduler_svc.fakes.hosts import node

TWO_HOSTS = {f"h{number}/n": node({"VCPU": 4, "MEMORY_MB": 8192}) for number in range(2)}


def placements(*servers, together=False, policy="filter"):
    oracle = Oracle(lab_hosts.snapshot(TWO_HOSTS, {}), policies.load(policies.load(policy).oracle).driver)
    for batch in arrival_batches(ListTrace(*servers), None, together):
        oracle.process(batch)
    return list(oracle.result.placed_flags)


def test_places_until_full_and_again_after_departures():
    full = [server(0, 10, vcpus=4), server(0, 20, vcpus=4)]
    assert placements(*full, server(5)) == [1, 1, 0]
    assert placements(*full, server(10)) == [1, 1, 1]
    assert placements(*full, server(10, vcpus=4), server(15), server(20)) == [1, 1, 1, 0, 1]


def test_request_is_placed_completely_or_not_at_all():
    three = [server(0, vcpus=3)] * 3
    assert placements(*three, server(1, vcpus=4), together=True) == [0, 0, 0, 1]
    assert placements(*three, server(1, vcpus=4)) == [1, 1, 0, 0]


@pytest.mark.parametrize(("policy", "fits"), [("filter", 0), ("pack", 1), ("chance", 0)])
def test_places_by_the_weighers_of_the_compared_policy(policy, fits):
    # When spread, two small servers leave no host for a large one; 'chance' is judged like the default driver
    assert placements(server(0), server(1), server(2, vcpus=4), policy=policy)[-1] == fits
