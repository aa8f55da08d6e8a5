# SPDX-License-Identifier: Apache-2.0
"""Number of hosts that a trace needs."""

import pytest

from devstack.lab import hosts
from devstack.lab.replay.sizing import required_hosts


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
