# SPDX-License-Identifier: Apache-2.0
"""Filters that Nova does not enable by default, enabled together, through a whole cluster."""

import json
import uuid
from collections.abc import Iterator

import pytest

from devstack.cluster import ClusterSize
from rpcapi import errors, objects
from rpcapi.model.names import host_of
from scheduler_svc.conf.filters import FILTERS
from tests.functional import clusters
from tests.functional.booting import ASKED, boot, gantt, home
from tests.functional.clusters import Running

SHAPE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
ENABLED = [name for name in FILTERS if name != "MetricsFilter"]  # there is no metric to be weighed by
SCHEDULER = {
    "filter_scheduler": {
        "enabled_filters": ",".join(ENABLED),
        "isolated_images": "special",
        "isolated_hosts": "compute2",
        "max_instances_per_host": 6,
    }
}

OPEN = ["compute0", "compute1"]  # what is not set aside


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with clusters.running(SHAPE, {"scheduler": SCHEDULER}) as running:
        yield running


def test_a_query_and_other_servers_say_where_a_server_goes(cluster):
    first = boot(cluster)
    assert host_of(first.host) in OPEN
    assert home(cluster, hints={"same_host": first.uuid}) == host_of(first.host)
    (other,) = set(OPEN) - {host_of(first.host)}
    assert home(cluster, hints={"different_host": [first.uuid]}) == other
    query = ["and", [">=", "$free_ram_mb", 64], ["in", "$host", other, "compute2"]]
    assert home(cluster, hints={"query": json.dumps(query)}) == other
    assert "1 host for isolated images, 2 query" in boot(cluster, hints={"query": ["=", "$host", "compute9"]}).reason


def test_hosts_are_kept_for_images_projects_and_flavors(cluster):
    assert home(cluster, image={"id": "special"}) == "compute2"
    gantt(cluster, "aggregate", "set", "theirs", "filter_tenant_id=other", "--host", "compute0")
    gantt(cluster, "aggregate", "set", "fast", "disk=ssd,nvme", "--host", "compute1", "--host", "compute2")
    specs = {"aggregate_instance_extra_specs:disk": "<or> nvme <or> optane"}
    assert home(cluster) == "compute1"
    assert home(cluster, extra_specs=specs) == "compute1"
    refused = boot(cluster, extra_specs={"aggregate_instance_extra_specs:disk": "tape"})
    assert refused.status == "ERROR"
    assert "1 host for isolated images, 1 aggregates of other projects, 1 no aggregate with extra spec disk" in (
        refused.reason
    )
    gantt(cluster, "aggregate", "set", "theirs", "filter_tenant_id=other,default", "--host", "compute0")
    assert home(cluster, hints={"query": ["=", "$host", "compute0"]}) == "compute0"


def test_a_query_that_cannot_be_used_is_refused_and_nothing_is_recorded(cluster):
    session, one = cluster.session, str(uuid.uuid4())
    spec = objects.RequestSpec.of(flavor="m1.tiny", resources=ASKED, hints={"query": ["=", "$free_ram", 1]})
    with pytest.raises(errors.InvalidSpec, match=r"no variable '\$free_ram'"):
        session.call(session.conductor.build_instances, spec, [one])
    assert one not in [each.uuid for each in session.call(session.conductor.list_instances).instances]
