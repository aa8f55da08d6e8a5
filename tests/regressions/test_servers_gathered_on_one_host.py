# SPDX-License-Identifier: Apache-2.0
"""The default policy spreads servers over equal empty hosts: none gets a second one before each has one.

Of twelve servers of four flavors on eight equal nodes the first node got all: a server of one flavor makes a host
uneven, which the next of another flavor evens out, and that outweighed the emptiness of the other nodes. Of nodes of
several sizes the largest got all, and a node with special hardware that nobody asked for got its part.
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
EQUAL_NODES = {f"h{number}/n": node(SIZES) for number in range(NODES)}
MIXED = [LARGE, MEDIUM, MEDIUM, *[SMALL] * 4, *[TINY] * 5]


class Cluster:
    """Empty nodes, and workers with the default driver that know the claims of the others."""

    def __init__(self, workers, nodes=EQUAL_NODES):
        conf = cfg.ConfigOpts()
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        scheduler_conf.register_opts(conf)
        self._policy = SchedulingPolicy(drivers.filter_driver(conf))
        self._partition = HostPartition(nodes)
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


def grown(factor):
    return {name: factor * amount for name, amount in SIZES.items()}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("resources", [TINY, LARGE])
def test_nodes_of_several_sizes_get_servers_in_proportion(workers, resources):
    cluster = Cluster(workers, {f"x{factor}/n": node(grown(factor)) for factor in (1, 2, 4)})
    for number in range(14):
        cluster.select(number, resources)
    assert cluster.servers == {"x1/n": 2, "x2/n": 4, "x4/n": 8}


@pytest.mark.parametrize(
    "special",
    [
        node(grown(4), traits=["HW_CPU_X86_AVX512F", "CUSTOM_FAST_DISK"]),
        node({**grown(4), "VGPU": 4}),
        node({**grown(4), "CUSTOM_PCI_10DE_20F1": 2}),
    ],
)
def test_special_hardware_is_last_unless_requested(special):
    cluster = Cluster(1, EQUAL_NODES | {"special/n": special})
    room = NODES * SIZES["MEMORY_MB"] // LARGE["MEMORY_MB"]
    for number in range(room):
        cluster.select(number, LARGE)
    assert cluster.servers == dict.fromkeys(EQUAL_NODES, room // NODES)
    cluster.select(room, LARGE)
    assert cluster.servers["special/n"] == 1


def test_special_hardware_that_is_requested_is_no_reason_to_avoid_it():
    special = node({**grown(2), "VGPU": 4}, traits=["CUSTOM_FAST_DISK"])
    cluster = Cluster(1, EQUAL_NODES | {"special/n": special, "gpu/n": node({**SIZES, "VGPU": 4})})
    cluster.select(0, {**TINY, "VGPU": 1})
    assert cluster.servers == {"gpu/n": 1}
