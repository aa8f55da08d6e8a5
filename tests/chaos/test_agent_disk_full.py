# SPDX-License-Identifier: Apache-2.0
"""An agent's disk is full: it starts nothing that it cannot record, its guests run on, and it recovers by itself."""

import resource
from collections.abc import Iterator

import pytest

from devstack import exercise, workload
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import TINY
from tests.support.clusters.clusters import RunningCluster

SETTLE_SECONDS = 150.0  # several attempts, each with its own build time-out


def limit_files(cluster: RunningCluster, size: int) -> None:
    """Let files of the agent grow up to ``size`` bytes: longer writes fail with EFBIG, as with ENOSPC."""
    for pid in clusters.workers(cluster.cluster.daemons["compute"]):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture
def full_disk(cluster: RunningCluster) -> Iterator[None]:
    """Free the disk at the end."""
    yield
    limit_files(cluster, resource.RLIM_INFINITY)


def boot(cluster: RunningCluster, count: int) -> list[str]:
    """Boot small servers, and return their uuids."""
    return exercise.boot(cluster.session, [workload.WorkloadRequest("tiny", TINY, count)])


@pytest.mark.usefixtures("full_disk")
def test_agent_with_a_full_disk(cluster: RunningCluster) -> None:
    before = boot(cluster, 2)
    assert {item.status for item in truth.assert_consistent(cluster, before)} == {"ACTIVE"}
    # When no file of the only agent can grow, and servers are booted
    limit_files(cluster, 0)
    refused = boot(cluster, 4)
    instances = truth.assert_consistent(cluster, refused, SETTLE_SECONDS)
    # Then they are in ERROR with a reason, without guest and claim, and the guests from before run on
    assert {item.status for item in instances} == {"ERROR"}
    assert {item.status for item in truth.assert_consistent(cluster, before)} == {"ACTIVE"}
    # And when there is space again, the same agent serves
    limit_files(cluster, resource.RLIM_INFINITY)
    assert {item.status for item in truth.assert_consistent(cluster, boot(cluster, 2))} == {"ACTIVE"}
    truth.assert_consistent(cluster, [*before, *refused])
