# SPDX-License-Identifier: Apache-2.0
"""A host that gets NUMA cells while servers run on it, through a whole cluster: nothing is sold twice.

The short form, on one agent by itself, is tests/unit/compute_agent/test_stranded.py.
"""

import uuid
from collections.abc import Iterator

import pytest

from devstack.cluster import ClusterSize
from rpcapi import objects
from tests.functional import clusters, truth
from tests.functional.clusters import Running

pytestmark = pytest.mark.long

SHAPE = ClusterSize(computes=1, nodes_per_host=1, schedulers=2)
FLAT = {"share": 1000, "vcpus": 16, "memory_mb": 16384, "reserved_memory_mb": 0, "cpu_allocation_ratio": 1.0}
CELLS = FLAT | {"numa_cells": 2, "threads_per_core": 2}
SCHEDULER = {"scheduler": {"claim_ttl": 5}, "store": {"audit_grace": 2, "reap_interval": 0.5}}
CONDUCTOR = {"conductor": {"build_timeout": 10, "recast_interval": 1, "pump_interval": 0.2}}


def agents(shape: dict[str, object]) -> dict[str, dict[str, object]]:
    return {"shape:small": shape, "compute": {"retry_interval_max": 0.5, "report_interval": 1.0}}


@pytest.fixture
def cluster() -> Iterator[Running]:
    overrides = {"compute": agents(FLAT), "scheduler": SCHEDULER, "conductor": CONDUCTOR}
    with clusters.running(SHAPE, overrides) as running:
        yield running


def become(running: Running, shape: dict[str, object]) -> None:
    """Have the agent die, and come back with nodes of another shape."""
    clusters.kill(running.cluster.daemons["compute"])
    running.cluster.overrides["compute"] = agents(shape)
    running.cluster.write_confs()
    running.cluster.start_daemon("compute")


def boot(running: Running, count: int) -> list[str]:
    """Boot servers of 4 VCPU, each by a request of its own; return those that became ACTIVE."""
    spec = objects.RequestSpec.of(resources={"VCPU": 4, "MEMORY_MB": 1024, "DISK_GB": 1})
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    for each in uuids:
        running.session.new_request()
        running.session.call(running.session.conductor.build_instances, spec, [each])
    return [each.uuid for each in truth.settled(running, uuids) if each.status == "ACTIVE"]


def delete(running: Running, uuids: list[str]) -> None:
    running.session.call(running.session.conductor.delete_instances, uuids)
    truth.until("their claims are over", lambda: not {name for name, _ in truth.claims(running)} & set(uuids))


def flagged(running: Running) -> dict[tuple[str, str], tuple[int, int]]:
    """Return what is in excess, {(provider, class): (used, capacity)}, where all else is right."""
    found = running.session.call(running.session.claims.verify)
    assert found.problems == []
    return {(each["provider"], each["class"]): (each["used"], each["capacity"]) for each in found.excess}


def test_a_host_that_gets_cells_and_loses_them_takes_as_many_servers_as_before(cluster: Running) -> None:
    # given a host for four servers, with two
    old = boot(cluster, 2)
    assert len(old) == 2

    # when it comes back with its CPUs in two cells, there is room for two more, and no others
    become(cluster, CELLS)
    truth.until("its report is there", lambda: flagged(cluster).get(("compute0/node0", "VCPU")) == (8, 0))
    new = boot(cluster, 3)
    assert len(new) == 2

    # when the old ones go, what they held can be had again
    delete(cluster, old)
    new += [truth.until("what was kept back is on offer", lambda: boot(cluster, 1))[0] for _ in range(2)]
    assert flagged(cluster) == {}
    assert boot(cluster, 1) == []

    # and the same the way back
    become(cluster, FLAT)
    truth.until("its report is there", lambda: flagged(cluster))
    assert boot(cluster, 1) == []
    delete(cluster, new)
    truth.until("what was kept back is on offer", lambda: boot(cluster, 1))
