# SPDX-License-Identifier: Apache-2.0
"""The limit of NumInstancesFilter holds for the builds of all scheduler workers together; that of IoOpsFilter does not.

Hosts count builds in their next report only. Until then each worker adds the builds that it placed itself, and the
claim script counts the claims of all.
"""

import contextlib
from dataclasses import replace

import pytest

from rpcapi import errors
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.weighers import scoring
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FollowingReplicaView
from tests.support.scheduler.schedulers import HostPartition, select, selection_call

LIMIT = 2
HOSTS = ("h1", "h2")
OPTIONS = {"NumInstancesFilter": "max_instances_per_host", "IoOpsFilter": "max_io_ops_per_host"}


class Workers:
    """Scheduler workers of one partition that follow its log, with a limit of LIMIT builds for each host."""

    def __init__(self, filter_name: str, count: int) -> None:
        pipe = pipeline.build([filter_name], FilterOptions(**{OPTIONS[filter_name]: LIMIT}))
        driver = FilterDriver(pipe, scoring.build({"FreeShareWeigher": 1.0}))
        self._policy = SchedulingPolicy(driver)
        idle = node({"VCPU": 100, "MEMORY_MB": 1 << 20, "DISK_GB": 1 << 16}, metrics={"instances": 0, "io_ops": 0})
        self.partition = HostPartition(dict.fromkeys(HOSTS, idle))
        self._replicas = [FollowingReplicaView(self.partition.store, driver.reads) for _ in range(count)]
        self._schedulers = [
            PartitionScheduler(self.partition.store, replica, SchedulingLimits()) for replica in self._replicas
        ]

    def boot(self, worker: int, number: int) -> None:
        """Boot a server by one worker, which has read the log to its end; it may be refused."""
        self._replicas[worker].reach(self.partition.store.state.position, 1)
        call = selection_call(first=number, scheduling_request=replace(request(), id=f"r{number}"))
        with contextlib.suppress(errors.NoValidHost):
            select(self._schedulers[worker], call, policy=self._policy)

    def counts(self) -> dict[str, int]:
        hosts = [claim.host for claim in self.partition.live()]
        return {host: hosts.count(host) for host in HOSTS}


@pytest.mark.parametrize(
    ("filter_name", "count"),
    [
        ("NumInstancesFilter", 1),
        ("IoOpsFilter", 1),
        ("NumInstancesFilter", 2),
        pytest.param(
            "IoOpsFilter",
            2,
            marks=pytest.mark.xfail(
                strict=True, raises=AssertionError, reason="The claim script does not know which builds have ended."
            ),
        ),
    ],
)
def test_no_host_exceeds_its_limit(filter_name: str, count: int) -> None:
    workers = Workers(filter_name, count)
    for number in range(3 * LIMIT * len(HOSTS)):
        workers.boot(number % count, number)
    assert workers.counts() == dict.fromkeys(HOSTS, LIMIT)
