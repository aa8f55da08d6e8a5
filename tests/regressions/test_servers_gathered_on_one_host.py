# SPDX-License-Identifier: Apache-2.0
"""The default policy spreads servers over equal empty hosts: none gets a second one before each has one.

Of twelve servers of four flavors on eight equal nodes the first node got all: a server of one flavor makes a host
uneven, which the next of another flavor evens out, and that outweighed the emptiness of the other nodes.
"""

from collections import Counter
from dataclasses import replace

import pytest
from oslo_config import cfg

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FollowingReplicaView
from tests.support.scheduler.schedulers import HostPartition, select, selection_call

NODES = 8
SIZES = {"VCPU": 64, "MEMORY_MB": 65_536, "DISK_GB": 2_000}
TINY, SMALL, MEDIUM, LARGE = (
    {"VCPU": vcpus, "MEMORY_MB": memory, "DISK_GB": disk}
    for vcpus, memory, disk in ((1, 512, 1), (1, 2048, 20), (2, 4096, 40), (4, 8192, 80))
)
MIXED = [LARGE, MEDIUM, MEDIUM, *[SMALL] * 4, *[TINY] * 5]


class Cluster:
    """Equal empty nodes, and workers with the default driver that know the claims of the others."""

    def __init__(self, workers):
        conf = cfg.ConfigOpts()
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        scheduler_conf.register_opts(conf)
        self._policy = SchedulingPolicy(drivers.filter_driver(conf))
        self._partition = HostPartition({f"h{number}/n": node(SIZES) for number in range(NODES)})
        replicas = [FollowingReplicaView(self._partition.store, self._policy.reads) for _ in range(workers)]
        self._workers = [
            (PartitionScheduler(self._partition.store, replica, SchedulingLimits()), replica) for replica in replicas
        ]
        self.servers = Counter()

    def select(self, number, resources, count=1):
        scheduler, replica = self._workers[number % len(self._workers)]
        replica.reach(self._partition.store.snapshot().position, 1)
        prepared = select(scheduler, _call(number, resources, count), policy=self._policy).prepared
        self.servers.update(result.host for result in prepared)

    def select_round(self, flavors):
        scheduler, _ = self._workers[0]
        calls = [_call(number, resources, 1) for number, resources in enumerate(flavors)]
        for result in scheduler.select_batch(self._policy, calls):
            self.servers.update(prepared.host for prepared in result.prepared)


def _call(number, resources, count):
    return selection_call(count, 100 * number, replace(request(resources), id=f"r{number}"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("resources", [TINY, SMALL, {"DISK_GB": 10}])
def test_equal_servers_one_by_one(workers, resources):
    cluster = Cluster(workers)
    for number in range(NODES):
        cluster.select(number, resources)
    assert set(cluster.servers.values()) == {1}
    assert len(cluster.servers) == NODES


@pytest.mark.parametrize("resources", [TINY, SMALL, {"DISK_GB": 10}])
def test_equal_servers_of_one_request_and_of_one_round(resources):
    together, in_round = Cluster(1), Cluster(1)
    together.select(0, resources, NODES)
    in_round.select_round([resources] * NODES)
    for cluster in (together, in_round):
        assert (set(cluster.servers.values()), len(cluster.servers)) == ({1}, NODES)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("flavors", [MIXED, MIXED[::-1], MIXED[::5] + MIXED[1::5]])
def test_servers_of_several_flavors(workers, flavors):
    cluster = Cluster(workers)
    for number, resources in enumerate(flavors):
        cluster.select(number, resources)
    _assert_spread(cluster, len(flavors))
    cluster = Cluster(1)
    cluster.select_round(flavors)
    _assert_spread(cluster, len(flavors))


def _assert_spread(cluster, servers):
    assert len(cluster.servers) == min(NODES, servers)
