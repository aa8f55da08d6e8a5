# SPDX-License-Identifier: Apache-2.0
"""Every weigher, multipliers of aggregates, prefilters and host hints, in a whole cluster."""

from collections.abc import Iterator

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi.resources.names import host_of
from scheduler_svc.core.built_in import DEFAULT_FILTERS, WEIGHER_NAMES
from tests.support.clusters import clusters
from tests.support.clusters.booting import boot, boot_host, gantt
from tests.support.clusters.clusters import RunningCluster

SHAPE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
SCHEDULER = {
    "filter_scheduler": {
        "enabled_filters": ",".join((*DEFAULT_FILTERS, "SameHostFilter", "DifferentHostFilter")),
        "enabled_weighers": ",".join(WEIGHER_NAMES),
        "num_instances_weight_multiplier": -1.0,
    },
    "metrics": {"weight_setting": "instances=-0.5", "required": False},
    "scheduler": {"enable_isolated_aggregate_filtering": True},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE, {"scheduler": SCHEDULER}) as running:
        yield running


def test_aggregate_multipliers_attract_servers(cluster):
    # Given hosts of different sizes, of which the largest is the best
    best = boot_host(cluster)
    other = next(name for name in ("compute0", "compute1") if name != best)
    weights = [f"{name}_weight_multiplier=50" for name in ("ram", "cpu", "disk")]
    gantt(cluster, "aggregate", "set", "heavy", *weights, "--host", other)
    assert [boot_host(cluster) for _ in range(3)] == [other] * 3
    assert max(last_weights(cluster, other)) > 1
    gantt(cluster, "aggregate", "delete", "heavy")
    boot_host(cluster)
    # Where it went depends on how many instances the agents had reported by then; its weights do not.
    assert max(last_weights(cluster, other)) <= 1


def last_weights(cluster: RunningCluster, host: str) -> list[float]:
    """Return the weights of memory, processors and disk of ``host`` in the decision of the latest request."""
    session = cluster.session
    decision = session.call(session.scheduler.explain, session.ctxt.request_id).document
    (scored,) = (best for best in decision["best"] if host_of(best["name"]) == host)
    return [scored["weights"][f"{name}Weigher"] for name in ("RAM", "CPU", "Disk")]


def test_isolated_aggregate_takes_only_servers_with_its_trait(cluster):
    gantt(cluster, "aggregate", "set", "gold", "trait:CUSTOM_GOLD=required", "--host", "compute0", "--host", "compute1")
    assert {boot_host(cluster) for _ in range(2)} == {"compute2"}
    gantt(cluster, "aggregate", "delete", "gold")


def test_same_and_different_host_hints(cluster):
    first = boot(cluster)
    assert boot_host(cluster, hints={"same_host": [first.uuid]}) == host_of(first.host)
    assert boot_host(cluster, hints={"different_host": first.uuid}) != host_of(first.host)
