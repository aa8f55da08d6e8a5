# SPDX-License-Identifier: Apache-2.0
"""A host that gets NUMA cells while servers run on it, in a whole cluster: nothing is allocated twice.

The short form with a single agent is tests/unit/compute_agent/resources/test_withheld_capacity.py.
"""

import uuid
from collections.abc import Iterator

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi import objects
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster

pytestmark = pytest.mark.long

SHAPE = ClusterSize(computes=1, nodes_per_host=1, schedulers=2)
FLAT = {"share": 1000, "vcpus": 16, "memory_mb": 16384, "reserved_memory_mb": 0, "cpu_allocation_ratio": 1.0}
CELLS = FLAT | {"numa_cells": 2, "threads_per_core": 2}
SCHEDULER = {"scheduler": {"claim_ttl": 5}, "store": {"audit_grace": 2, "reap_interval": 0.5}}
CONDUCTOR = {"conductor": {"build_timeout": 10, "recast_interval": 1, "pump_interval": 0.2}}


def agents(shape: dict[str, object]) -> dict[str, dict[str, object]]:
    return {"shape:small": shape, "compute": {"retry_interval_max": 0.5, "report_interval": 1.0}}


@pytest.fixture
def cluster() -> Iterator[RunningCluster]:
    overrides = {"compute": agents(FLAT), "scheduler": SCHEDULER, "conductor": CONDUCTOR}
    with clusters.running_cluster(SHAPE, overrides) as running:
        yield running


def restart_with_shape(running: RunningCluster, shape: dict[str, object]) -> None:
    """Kill the agent, and restart it with nodes of another shape."""
    running.cluster.daemons["compute"].kill_group()
    running.cluster.overrides["compute"] = agents(shape)
    running.cluster.write_confs()
    running.cluster.start_daemon("compute")


def boot(running: RunningCluster, count: int) -> list[str]:
    """Boot servers of 4 VCPU, one request each; return the uuids of the ACTIVE ones."""
    spec = objects.RequestSpec.of(resources={"VCPU": 4, "MEMORY_MB": 1024, "DISK_GB": 1})
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    for item in uuids:
        running.session.new_request()
        running.session.call(running.session.conductor.build_instances, spec, [item])
    return [item.uuid for item in truth.wait_for_final_status(running, uuids) if item.status == "ACTIVE"]


def delete(running: RunningCluster, uuids: list[str]) -> None:
    running.session.call(running.session.conductor.delete_instances, uuids)
    truth.until("their claims have ended", lambda: not {name for name, _ in truth.claims(running)} & set(uuids))


def excess(running: RunningCluster) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the excess as {(provider, class): (used, capacity)}; there must be no other problem."""
    report = running.session.call(running.session.claims.verify)
    assert report.problems == []
    return {(item["provider"], item["class"]): (item["used"], item["capacity"]) for item in report.excess}


def test_host_with_changed_shape_keeps_its_capacity(cluster: RunningCluster) -> None:
    # given a host for four servers, with two
    old = boot(cluster, 2)
    assert len(old) == 2

    # when it comes back with its CPUs in two cells, exactly two more fit
    restart_with_shape(cluster, CELLS)
    truth.until("its report is there", lambda: excess(cluster).get(("compute0/node0", "VCPU")) == (8, 0))
    new = boot(cluster, 3)
    assert len(new) == 2

    # when the old ones are deleted, their resources are available again
    delete(cluster, old)
    new += [truth.until("what was kept back is on offer", lambda: boot(cluster, 1))[0] for _ in range(2)]
    assert excess(cluster) == {}
    assert boot(cluster, 1) == []

    # and the same in the other direction
    restart_with_shape(cluster, FLAT)
    truth.until("its report is there", lambda: excess(cluster))
    assert boot(cluster, 1) == []
    delete(cluster, new)
    truth.until("what was kept back is on offer", lambda: boot(cluster, 1))
