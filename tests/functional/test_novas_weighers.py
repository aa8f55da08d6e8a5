# SPDX-License-Identifier: Apache-2.0
"""Every weigher, multipliers of aggregates, prefilters and located hints, through a whole cluster."""

from collections.abc import Iterator

import pytest

from devstack.cluster import ClusterSize
from rpcapi.model.names import host_of
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.conf.weighers import WEIGHERS
from tests.functional import clusters
from tests.functional.booting import boot, gantt, home
from tests.functional.clusters import Running

SHAPE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
SCHEDULER = {
    "filter_scheduler": {
        "enabled_filters": ",".join((*DEFAULT_FILTERS, "SameHostFilter", "DifferentHostFilter")),
        "enabled_weighers": ",".join(WEIGHERS),
        "num_instances_weight_multiplier": -1.0,
    },
    "metrics": {"weight_setting": "instances=-0.5", "required": False},
    "scheduler": {"enable_isolated_aggregate_filtering": True},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with clusters.running(SHAPE, {"scheduler": SCHEDULER}) as running:
        yield running


def test_servers_gather_where_an_aggregate_gives_weight(cluster):
    # Given hosts of unlike sizes, of which the largest is the best
    best = home(cluster)
    other = next(name for name in ("compute0", "compute1") if name != best)
    weights = [f"{name}_weight_multiplier=50" for name in ("ram", "cpu", "disk")]
    gantt(cluster, "aggregate", "set", "heavy", *weights, "--host", other)
    assert [home(cluster) for _ in range(3)] == [other] * 3
    gantt(cluster, "aggregate", "delete", "heavy")
    assert home(cluster) != other


def test_an_aggregate_that_is_for_a_trait_takes_nobody_else(cluster):
    gantt(cluster, "aggregate", "set", "gold", "trait:CUSTOM_GOLD=required", "--host", "compute0", "--host", "compute1")
    assert {home(cluster) for _ in range(2)} == {"compute2"}
    gantt(cluster, "aggregate", "delete", "gold")


def test_instances_of_hints_are_found_where_they_run(cluster):
    first = boot(cluster)
    assert home(cluster, hints={"same_host": [first.uuid]}) == host_of(first.host)
    assert home(cluster, hints={"different_host": first.uuid}) != host_of(first.host)
