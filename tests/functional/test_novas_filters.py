# SPDX-License-Identifier: Apache-2.0
"""Filters that Nova does not enable by default, all enabled, in a whole cluster."""

import json
import uuid
from collections.abc import Iterator

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi import errors, objects
from rpcapi.resources.names import host_of
from scheduler_svc.core.built_in import FILTER_NAMES
from tests.support.clusters import clusters
from tests.support.clusters.booting import SERVER_RESOURCES, boot, boot_host, gantt
from tests.support.clusters.clusters import RunningCluster

SHAPE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
ENABLED = [name for name in FILTER_NAMES if name != "MetricsFilter"]  # there is no metric to weigh
SCHEDULER = {
    "filter_scheduler": {
        "enabled_filters": ",".join(ENABLED),
        "isolated_images": "special",
        "isolated_hosts": "compute2",
        "max_instances_per_host": 6,
    }
}

OPEN = ["compute0", "compute1"]  # hosts that are not isolated


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE, {"scheduler": SCHEDULER}) as running:
        yield running


def test_query_and_host_hints_select_the_host(cluster):
    first = boot(cluster)
    assert host_of(first.host) in OPEN
    assert boot_host(cluster, hints={"same_host": first.uuid}) == host_of(first.host)
    (other,) = set(OPEN) - {host_of(first.host)}
    assert boot_host(cluster, hints={"different_host": [first.uuid]}) == other
    query = ["and", [">=", "$free_ram_mb", 64], ["in", "$host", other, "compute2"]]
    assert boot_host(cluster, hints={"query": json.dumps(query)}) == other
    assert "1 host for isolated images, 2 query" in boot(cluster, hints={"query": ["=", "$host", "compute9"]}).reason


def test_hosts_isolated_for_images_projects_and_flavors(cluster):
    assert boot_host(cluster, image={"id": "special"}) == "compute2"
    gantt(cluster, "aggregate", "set", "theirs", "filter_tenant_id=other", "--host", "compute0")
    gantt(cluster, "aggregate", "set", "fast", "disk=ssd,nvme", "--host", "compute1", "--host", "compute2")
    specs = {"aggregate_instance_extra_specs:disk": "<or> nvme <or> optane"}
    assert boot_host(cluster) == "compute1"
    assert boot_host(cluster, extra_specs=specs) == "compute1"
    refused = boot(cluster, extra_specs={"aggregate_instance_extra_specs:disk": "tape"})
    assert refused.status == "ERROR"
    assert "1 host for isolated images, 1 aggregates of other projects, 1 no aggregate with extra spec disk" in (
        refused.reason
    )
    gantt(cluster, "aggregate", "set", "theirs", "filter_tenant_id=other,default", "--host", "compute0")
    assert boot_host(cluster, hints={"query": ["=", "$host", "compute0"]}) == "compute0"


def test_invalid_query_is_refused_and_not_recorded(cluster):
    session, server_uuid = cluster.session, str(uuid.uuid4())
    spec = objects.RequestSpec.of(flavor="m1.tiny", resources=SERVER_RESOURCES, hints={"query": ["=", "$free_ram", 1]})
    with pytest.raises(errors.InvalidSpec, match=r"unknown variable '\$free_ram'"):
        session.call(session.conductor.build_instances, spec, [server_uuid])
    assert server_uuid not in [instance.uuid for instance in session.call(session.conductor.list_instances).instances]
