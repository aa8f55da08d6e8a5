# SPDX-License-Identifier: Apache-2.0
"""``gantt host drain`` on a running cluster: the host is empty afterwards, and what has no other host is named."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi.resources.names import host_of
from tests.support.clusters import booting, clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster

SIZE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
DRAINED = "compute0"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SIZE) as running:
        yield running


def gantt(cluster: RunningCluster, *arguments: str) -> tuple[int, Any]:
    """Run the operator's command; return its exit code, and its output from JSON, or its message."""
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300, check=False)
    return result.returncode, json.loads(result.stdout) if result.stdout else result.stderr


@pytest.mark.timeout(600)
def test_host_is_emptied_and_what_cannot_move_is_named(cluster: RunningCluster) -> None:
    # Given two servers that run, one that is off, and one that may only be on this host
    servers = [booting.boot(cluster, force_hosts=[DRAINED]) for _ in range(3)]
    servers.append(booting.boot(cluster, in_tree=f"{DRAINED}/node0"))
    uuids = [server.uuid for server in servers]
    assert {(server.status, host_of(server.host)) for server in servers} == {("ACTIVE", DRAINED)}
    assert gantt(cluster, "server", "stop", uuids[2], "--wait")[0] == 0
    # When the host is drained
    code, rows = gantt(cluster, "host", "drain", DRAINED, "-f", "json")
    # Then all but that one are elsewhere, as they were
    assert (code, [row["server"] for row in rows]) == (1, uuids[3:])
    assert "No valid host" in rows[0]["reason"]
    records = truth.records(cluster, uuids)
    assert [record.status for record in records] == ["ACTIVE", "ACTIVE", "SHUTOFF", "ACTIVE"]
    assert [host_of(record.host) == DRAINED for record in records] == [False, False, False, True]
    truth.until("all sides agree", lambda: gantt(cluster, "audit", "-f", "json", "--pause", "0.5") == (0, []))
    assert cluster.session.call(cluster.session.claims.verify).clean
    # And a second run finds only that one left; nothing is placed on the host
    assert [row["server"] for row in gantt(cluster, "host", "drain", DRAINED, "-f", "json")[1]] == uuids[3:]
    assert booting.boot(cluster, force_hosts=[DRAINED]).status == "ERROR"
