# SPDX-License-Identifier: Apache-2.0
"""Every weigher, multipliers of aggregates, prefilters and located hints, through a whole cluster."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tqdm import tqdm

from devstack import exercise
from devstack.cluster import Shape
from rpcapi import objects
from rpcapi.model.names import host_of
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.conf.weighers import WEIGHERS
from tests.functional import clusters
from tests.functional.clusters import Running

SHAPE = Shape(computes=3, nodes_per_host=1, schedulers=1)
SCHEDULER = {
    "filter_scheduler": {
        "enabled_filters": ",".join((*DEFAULT_FILTERS, "SameHostFilter", "DifferentHostFilter")),
        "enabled_weighers": ",".join(WEIGHERS),
        "num_instances_weight_multiplier": -1.0,
    },
    "metrics": {"weight_setting": "instances=-0.5", "required": False},
    "scheduler": {"enable_isolated_aggregate_filtering": True},
}
ASKED = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with clusters.running(SHAPE, {"scheduler": SCHEDULER}) as running:
        yield running


def gantt(cluster: Running, *arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("gantt")), "--config-file", str(cluster.cluster.client_conf)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def boot(cluster: Running, **asked: Any) -> objects.Instance:
    """Boot one server and return it at its end."""
    session, one = cluster.session, str(uuid.uuid4())
    session.new_request()
    spec = objects.RequestSpec.of(flavor="m1.tiny", resources=ASKED, **asked)
    session.ask(session.conductor.build_instances, spec, [one])
    (found,) = exercise.wait_for_servers(session, [one], 60, tqdm(disable=True))
    return found


def home(cluster: Running, **asked: Any) -> str:
    """Return the service host on which such a server becomes ACTIVE."""
    found = boot(cluster, **asked)
    assert found.status == "ACTIVE", found.reason
    return host_of(found.host)


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
