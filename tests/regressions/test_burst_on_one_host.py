# SPDX-License-Identifier: Apache-2.0
"""A burst between two reports of its hosts is spread over them, for Nova as for gantt's own callers.

The hosts' last reports have one build in progress, but for one idle host. Weighed by these alone the idle host would
get the whole burst, as Nova's did: their consumers have no type, and builds were counted for type INSTANCE only.
"""

from collections import Counter
from dataclasses import replace

import pytest

from devstack.lab import default_driver
from rpcapi import errors
from rpcapi.resources.claims import INSTANCE, UNTYPED
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.core.weighers import scoring
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.scheduling.shadow import ShadowStore
from tests.support.nova.nova_clouds import NovaCloud, hosts_of, spec
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FollowingReplicaView
from tests.support.scheduler.schedulers import HostPartition, select, selection_call

SIZES = {"VCPU": 400, "MEMORY_MB": 400_000, "DISK_GB": 20_000}
BUILDS = {"a": 1, "b": 1, "c": 1, "idle": 0}
EVEN = {"a": 5, "b": 5, "c": 5, "idle": 5}
FLAVORS = [{"VCPU": vcpus, "MEMORY_MB": 512 * vcpus, "DISK_GB": 1} for vcpus in (1, 2, 3, 4)]


class Burst:
    """Calls to one worker while no host reports.

    The weighers are a Nova's that decide it: builds in progress, and free memory.
    """

    def __init__(self, consumer_type):
        self._type = consumer_type
        driver = FilterDriver(
            pipeline.build([], FilterOptions()), scoring.build({"IoOpsWeigher": -1.0, "RAMWeigher": 1.0})
        )
        self._policy = SchedulingPolicy(driver)
        partition = HostPartition(
            {name: node(SIZES, metrics={"instances": builds, "io_ops": builds}) for name, builds in BUILDS.items()}
        )
        replica = FollowingReplicaView(partition.store, driver.reads)
        self._scheduler = PartitionScheduler(partition.store, replica, SchedulingLimits())
        at = (partition.store.state.epoch, partition.store.state.position)
        for name in (name for name, builds in BUILDS.items() if builds):
            intents = [Intent(f"build-{name}", 1, [Candidate(name)])]
            batch = ClaimBatch(f"r-{name}", "p", "u", {"VCPU": 1}, intents, *at, ttl_ms=600_000, fresh=True)
            assert partition.store.prepare(batch).accepted
        self._shadow = PartitionScheduler(ShadowStore(partition.store), replica, SchedulingLimits())
        self.hosts = Counter()

    def call(self, number, count=1, resources=None):
        scheduling_request = replace(request(resources), id=f"r{number}")
        return selection_call(count, 100 * number, scheduling_request, consumer_type=self._type)

    def select(self, call):
        self.hosts.update(result.host for result in select(self._scheduler, call, policy=self._policy).prepared)

    def select_without_a_claim(self, call):
        with pytest.raises(errors.NotClaimed) as caught:
            select(self._shadow, call, policy=self._policy)
        self.hosts.update(caught.value.kwargs["hosts"])

    def select_round(self, calls):
        for result in self._scheduler.select_batch(self._policy, calls):
            self.hosts.update(prepared.host for prepared in result.prepared)


@pytest.fixture(params=[INSTANCE, UNTYPED])
def burst(request):
    return Burst(request.param)


def test_servers_that_are_requested_one_by_one(burst):
    for number in range(20):
        burst.select(burst.call(number))
    assert burst.hosts == EVEN


def test_servers_that_are_requested_by_several(burst):
    for number in range(4):
        burst.select(burst.call(number, 5))
    assert burst.hosts == EVEN


def test_equal_servers_in_rounds(burst):
    for first in range(0, 20, 10):
        burst.select_round([burst.call(number) for number in range(first, first + 10)])
    assert burst.hosts == EVEN


def test_servers_of_several_flavors_in_rounds(burst):
    for first in range(0, 20, 10):
        burst.select_round([burst.call(number, resources=FLAVORS[number % 4]) for number in range(first, first + 10)])
    builds = [BUILDS[name] + burst.hosts[name] for name in BUILDS]
    assert max(builds) - min(builds) <= 1


def test_repeated_call_counts_no_further_build(burst):
    for number in range(20):
        for _ in range(3):
            burst.select(burst.call(number))
    assert burst.hosts == {name: 3 * count for name, count in EVEN.items()}


def test_selection_without_a_claim_counts_no_build(burst):
    for number in range(3):
        burst.select_without_a_claim(burst.call(number))
    burst.select(burst.call(3))
    assert burst.hosts == {"idle": 4}


@pytest.mark.parametrize("count", [1, 2, 8])
def test_equal_nodes_get_one_equal_server_each_by_default(count):
    nodes = [f"n{number}" for number in range(8)]
    policy = SchedulingPolicy(default_driver.default())
    partition = HostPartition({name: node(SIZES) for name in nodes})
    replica = FollowingReplicaView(partition.store, policy.driver.reads)
    scheduler = PartitionScheduler(partition.store, replica, SchedulingLimits())
    calls = [selection_call(count, 100 * number, replace(request(), id=f"r{number}")) for number in range(8 // count)]
    prepared = [result for call in calls for result in select(scheduler, call, policy=policy).prepared]
    assert sorted(result.host for result in prepared) == nodes


@pytest.mark.parametrize("count", [1, 5])
def test_servers_of_a_nova(count):
    cloud = NovaCloud()
    try:
        cloud.start()
        for name, builds in BUILDS.items():
            cloud.add_host(name, SIZES, metrics={"instances": 1, "io_ops": builds})
        hosts = Counter()
        for _ in range(20 // count):
            _, selections = cloud.select(spec(), count, return_alternates=False)
            hosts.update(host for row in hosts_of(selections) for host in row)
        assert hosts == EVEN
    finally:
        cloud.stop()
