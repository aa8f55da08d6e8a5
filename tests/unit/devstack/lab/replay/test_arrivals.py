# SPDX-License-Identifier: Apache-2.0
"""What a trace asks for at each moment, and what it amounts to."""

import uuid

import pytest

from devstack.lab.replay import sizing
from devstack.lab.replay.arrivals import arrival_batches, summarize
from devstack.workload import TraceError
from tests.unit.devstack.lab.replay.traces import ListTrace, server


def test_each_server_is_a_request_of_its_own_unless_asked_together():
    trace = ListTrace(server(), server(), server(vcpus=2), server(batch="c"), server(arrives=5))
    alone = list(arrival_batches(trace, None, together=False))
    assert [moment.at for moment in alone] == [0, 5]
    assert [len(one.members) for one in alone[0].wanted] == [1, 1, 1, 1]
    together = list(arrival_batches(trace, None, together=True))
    assert [[member.number for member in one.members] for one in together[0].wanted] == [[0, 1], [2], [3]]
    assert together[0].wanted[1].resources == {"VCPU": 2, "MEMORY_MB": 1024}


def test_a_large_batch_comes_in_requests_that_one_claim_takes():
    (moment,) = arrival_batches(ListTrace(*[server()] * 250), None, together=True)
    assert [len(one.members) for one in moment.wanted] == [100, 100, 50]


def test_consumers_are_uuids_and_no_two_alike():
    (moment,) = arrival_batches(ListTrace(*[server()] * 50), None, together=True)
    consumers = [member.consumer for member in moment.wanted[0].members]
    assert len(set(consumers)) == 50
    assert all(str(uuid.UUID(consumer)) == consumer for consumer in consumers)


def test_the_survey_knows_the_peak_and_the_commonest_shape():
    found = summarize(
        ListTrace(server(0, 10, 4), server(0, 20, 2, 2048), server(10, None, 3), server(30, None, 3)), None
    )
    # At 10 the first has just left: 2 + 3; at 30 the second has too: 3 + 3
    assert found.peak == {"VCPU": 6, "MEMORY_MB": 3072}
    assert (found.servers, found.begins, found.ends) == (4, 0, 30)
    assert found.commonest == (3, 1024)
    assert summarize(ListTrace(server(), server()), 1).servers == 1
    with pytest.raises(TraceError, match="holds no request"):
        summarize(ListTrace(), None)


def test_as_few_hosts_as_hold_the_peak():
    peak = {"VCPU": 1000, "MEMORY_MB": 1_000_000}
    enough = sizing.required_hosts(peak, 1.0)
    assert enough > 1
    assert sizing.required_hosts(peak, 0.5) > enough
    assert sizing.required_hosts({"VCPU": 1, "MEMORY_MB": 1}, 1.0) == 1
    assert sizing.required_hosts(peak, 1.0, cluster=True) >= 1
    with pytest.raises(ValueError, match="more than"):
        sizing.required_hosts({"VCPU": 10**9, "MEMORY_MB": 1}, 1.0)
