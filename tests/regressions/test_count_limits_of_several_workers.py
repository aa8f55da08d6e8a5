# SPDX-License-Identifier: Apache-2.0
"""The limit of NumInstancesFilter holds for the builds of all scheduler workers together; that of IoOpsFilter does not.

Hosts count builds in their next report only. Until then each worker adds the builds that it placed itself, and the
claim script counts the claims of all.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources import transient
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
MEMORY_MB = {"h1": 1 << 20, "h2": 1 << 20}  # by host
OPTIONS = {"NumInstancesFilter": "max_instances_per_host", "IoOpsFilter": "max_io_ops_per_host"}


class Workers:
    """Scheduler workers of one partition that follow its log, with a limit of LIMIT builds for each host."""

    def __init__(self, filter_name: str, count: int, memory_mb: Mapping[str, int] = MEMORY_MB) -> None:
        pipe = pipeline.build([filter_name], FilterOptions(**{OPTIONS[filter_name]: LIMIT}))
        driver = FilterDriver(pipe, scoring.build({"RAMWeigher": 1.0}))
        self._policy = SchedulingPolicy(driver)
        metrics = {"instances": 0, "io_ops": 0}
        self.partition = HostPartition(
            {
                name: node({"VCPU": 100, "MEMORY_MB": amount, "DISK_GB": 1 << 16}, metrics=metrics)
                for name, amount in memory_mb.items()
            }
        )
        self._replicas = [FollowingReplicaView(self.partition.store, driver.reads) for _ in range(count)]
        self._schedulers = [
            PartitionScheduler(self.partition.store, replica, SchedulingLimits()) for replica in self._replicas
        ]

    def boot(self, worker: int, number: int, **fields: Any) -> errors.NoValidHost | None:
        """Boot a server by one worker, which has read the log to its end; return its refusal or None."""
        self._replicas[worker].reach(self.partition.store.state.position, 1)
        call = selection_call(first=number, scheduling_request=replace(request(), id=f"r{number}", **fields))
        try:
            select(self._schedulers[worker], call, policy=self._policy)
        except errors.NoValidHost as refusal:
            return refusal
        return None

    def counts(self) -> Counter[str]:
        return Counter(claim.host for claim in self.partition.live())


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
    for number in range(3 * LIMIT * len(MEMORY_MB)):
        workers.boot(number % count, number)
    assert workers.counts() == dict.fromkeys(MEMORY_MB, LIMIT)


def test_worker_learns_which_hosts_other_workers_have_filled() -> None:
    """Given hosts that rank first and are full by claims of another worker, which they have not reported."""
    full = {f"full{number:03}": 1 << 20 for number in range(120)}
    workers = Workers("NumInstancesFilter", 2, {**full, "last": 1 << 16})
    for number in range(LIMIT * len(full)):
        assert workers.boot(0, number, ignore_hosts=("last",)) is None
    # Each try learns which hosts are full, and the refusal may pass as long as some are unknown.
    for number in range(3 + LIMIT):
        if workers.counts()["last"] < LIMIT:
            refusal = workers.boot(1, 1000 + number)
            assert refusal is None or transient.retry_seconds(refusal, 60.0) > 0
    assert workers.counts()["last"] == LIMIT
    refusal = workers.boot(1, 2000)
    assert refusal is not None and refusal.kwargs["reasons"] == {"too many instances": len(full) + 1}
