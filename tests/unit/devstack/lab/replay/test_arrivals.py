# SPDX-License-Identifier: Apache-2.0
"""Arrivals of a trace by time, its summary, and the hosts that it needs."""

import uuid

import pytest

from devstack.lab import hosts
from devstack.lab.replay.arrivals import arrival_batches, required_hosts, summarize
from devstack.workload import TraceError
from tests.unit.devstack.lab.replay.traces import server, trace_of


def test_each_server_is_a_separate_request_unless_together():
    trace = trace_of(server(), server(), server(vcpus=2), server(batch="c"), server(arrives=5))
    separate = list(arrival_batches(trace, None, together=False))
    assert [batch.at for batch in separate] == [0, 5]
    assert [len(request.members) for request in separate[0].requests] == [1, 1, 1, 1]
    together = list(arrival_batches(trace, None, together=True))
    assert [[member.number for member in request.members] for request in together[0].requests] == [[0, 1], [2], [3]]
    assert together[0].requests[1].resources == {"VCPU": 2, "MEMORY_MB": 1024}


def test_large_batch_is_split_into_requests():
    (batch,) = arrival_batches(trace_of(*[server()] * 2500), None, together=True)
    assert [len(request.members) for request in batch.requests] == [1000, 1000, 500]


def test_consumers_are_distinct_uuids():
    (batch,) = arrival_batches(trace_of(*[server()] * 50), None, together=True)
    consumers = [member.consumer for member in batch.requests[0].members]
    assert len(set(consumers)) == 50
    assert all(str(uuid.UUID(consumer)) == consumer for consumer in consumers)


def test_summary_has_peak_and_most_common_shape():
    summary = summarize(
        trace_of(server(0, 10, 4), server(0, 20, 2, 2048), server(10, None, 3), server(30, None, 3)), None
    )
    # At 10 the first server has just ended: 2 + 3; at 30 the second has too: 3 + 3
    assert summary.peak == {"VCPU": 6, "MEMORY_MB": 3072}
    assert (summary.servers, summary.begins, summary.ends) == (4, 0, 30)
    assert summary.commonest == (3, 1024)
    assert summarize(trace_of(server(), server()), 1).servers == 1
    with pytest.raises(TraceError, match="contains no request"):
        summarize(trace_of(), None)


def fits(peak, fill, count):
    capacity = dict.fromkeys(peak, 0)
    for node in hosts.make_nodes(count).values():
        for name in peak:
            capacity[name] += node["inventories"][name]["capacity"]
    return all(amount <= fill * capacity[name] for name, amount in peak.items())


@pytest.mark.parametrize("fill", [0.5, 0.9])
@pytest.mark.parametrize("peak", [{"VCPU": 5000, "MEMORY_MB": 1}, {"VCPU": 1, "MEMORY_MB": 50_000_000}])
def test_hosts_are_the_fewest_that_hold_the_peak(peak, fill):
    count = required_hosts(peak, fill)
    assert fits(peak, fill, count)
    assert not fits(peak, fill, count - 1)


def test_small_peak_needs_one_host():
    assert required_hosts({"VCPU": 1, "MEMORY_MB": 1}, 0.9) == 1
    assert required_hosts({"VCPU": 1, "MEMORY_MB": 1}, 0.9, cluster=True) == 1


def test_hosts_of_a_cluster_grow_with_the_peak():
    counts = [required_hosts({"VCPU": vcpus, "MEMORY_MB": 1}, 0.5, cluster=True) for vcpus in (1000, 10_000)]
    assert 9 * counts[0] <= counts[1] <= 10 * counts[0]


def test_peak_beyond_the_maximum_is_rejected():
    with pytest.raises(ValueError, match="use fewer requests"):
        required_hosts({"VCPU": 10**9, "MEMORY_MB": 1}, 0.9)


def test_seed_changes_the_order_of_hosts_and_the_choices_between_equal_ones():
    peak = {"VCPU": 5000, "MEMORY_MB": 1}
    counts = {required_hosts(peak, 0.9, seed=seed) for seed in range(1, 6)}
    assert len(counts) > 1
    (batch,) = arrival_batches(trace_of(server()), None, together=False, seed=2)
    (other,) = arrival_batches(trace_of(server()), None, together=False)
    assert batch.requests[0].members == other.requests[0].members
    assert batch.requests[0].id != other.requests[0].id
