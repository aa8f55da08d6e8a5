# SPDX-License-Identifier: Apache-2.0
"""A host's agent dies or is cut off, the host is fenced and evacuated, and the agent returns with all its guests."""

import itertools
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi.resources.names import host_of
from tests.support.clusters import booting, clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.other_agent import OtherAgent
from tests.support.store.backends import RedisFaults
from tests.support.stride import in_turn

LOST, FIRST = "compute2", "compute[0-1]"
SIZE = ClusterSize(computes=3, nodes_per_host=1)
# A host counts as down soon, but none because the machine is slow; there are no alternates that could hide an expired
# claim. The other agents are those of the first process.
OVERRIDES = {
    "scheduler": {"store": {"audit_grace": 2, "reap_interval": 0.5, "service_down_time": 20}},
    "conductor": {"conductor": {"recast_interval": 2, "reconcile_interval": 2, "pump_interval": 0.2}},
    "compute": {
        "compute": {
            "hosts": FIRST,
            "report_interval": 0.5,
            "call_timeout": 5,
            "retry_interval_max": 0.5,
            "isolation_timeout": 2,
        },
    },
}


LOSSES = ("killed", "cut off")
STORES = ("same epoch", "restored from before the fence")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    """Three hosts; the agent of the last one is not started yet."""
    with clusters.running_cluster(SIZE, OVERRIDES, ready=False) as running:
        yield running


@pytest.fixture
def lost_host(cluster: RunningCluster, tmp_path: Path) -> Iterator[OtherAgent]:
    host = OtherAgent(cluster, tmp_path, LOST, FIRST)
    truth.until("all nodes are open", lambda: truth.exercise.open_nodes(cluster.session) == SIZE.nodes)
    yield host
    host.signal(signal.SIGCONT)
    host.kill()


def gantt(cluster: RunningCluster, *arguments: str) -> tuple[int, Any]:
    """Run the operator's command; return its exit code, and its output from JSON, or its message."""
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300, check=False)
    return result.returncode, json.loads(result.stdout) if result.stdout else result.stderr


def boot_on_lost_host(cluster: RunningCluster) -> list[str]:
    """Boot three servers there, and stop the last one."""
    servers = [booting.boot(cluster, force_hosts=[LOST]) for _ in range(3)]
    assert {(server.status, host_of(server.host)) for server in servers} == {("ACTIVE", LOST)}
    uuids = [server.uuid for server in servers]
    assert gantt(cluster, "server", "stop", uuids[2], "--wait")[0] == 0
    return uuids


@pytest.mark.timeout(600)
@pytest.mark.parametrize("loss_and_store", in_turn(list(itertools.product(LOSSES, STORES))), ids=", ".join)
def test_agent_that_returns_removes_what_was_evacuated(
    cluster: RunningCluster, lost_host: OtherAgent, loss_and_store: tuple[str, str]
) -> None:
    loss, store = loss_and_store
    uuids = boot_on_lost_host(cluster)
    faults = RedisFaults(cluster.cluster.store, cluster.session.conf.rpc.partition)
    backup = faults.mark()
    # Given a host that does not answer any more
    lost_host.kill() if loss == "killed" else lost_host.signal(signal.SIGSTOP)
    code, message = gantt(cluster, "server", "evacuate", uuids[0])
    assert (code, "Host 'compute2' is up" in message) == (1, True), message
    truth.until("the host is down, and fenced", lambda: gantt(cluster, "host", "fence", LOST, "--yes")[0] == 0)
    # When it is evacuated
    assert gantt(cluster, "host", "evacuate", LOST, "-f", "json") == (0, [])
    truth.until("the stopped server is off again", lambda: statuses(cluster, uuids) == ["ACTIVE", "ACTIVE", "SHUTOFF"])
    assert LOST not in {host_of(server.host) for server in truth.records(cluster, uuids)}
    copies = truth.guests(cluster)
    assert all(copies[uuid, f"{LOST}/node0"] == 1 for uuid in uuids), "the copies of the lost host are to be removed"
    if store == "restored from before the fence":
        faults.restore(backup)
    # And its agent returns
    lost_host.restart() if loss == "killed" else lost_host.signal(signal.SIGCONT)
    # Then only the evacuated copies run
    truth.until("the copies are gone", lambda: not any(node.startswith(LOST) for _uuid, node in truth.guests(cluster)))
    truth.until(
        "all sides agree, and the sums are exact",
        lambda: gantt(cluster, "audit", "-f", "json", "--pause", "0.5") == (0, []) and is_clean(cluster),
    )
    assert statuses(cluster, uuids) == ["ACTIVE", "ACTIVE", "SHUTOFF"]
    assert sum(truth.guests(cluster)[uuid, server.host] for uuid, server in by_uuid(cluster, uuids).items()) == 3


def statuses(cluster: RunningCluster, uuids: list[str]) -> list[str]:
    return [server.status for server in truth.records(cluster, uuids)]


def by_uuid(cluster: RunningCluster, uuids: list[str]) -> dict[str, Any]:
    return {server.uuid: server for server in truth.records(cluster, uuids)}


def is_clean(cluster: RunningCluster) -> bool:
    return bool(cluster.session.call(cluster.session.claims.verify).clean)
