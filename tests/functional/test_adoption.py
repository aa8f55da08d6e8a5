# SPDX-License-Identifier: Apache-2.0
"""The conductors' store is restored from a backup: servers booted since are adopted, or removed."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.cluster_size import ClusterSize
from devstack.servers.redis import RedisServer
from rpcapi.resources import names
from tests.support.clusters import booting, clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster

SIZE = ClusterSize(computes=2, nodes_per_host=1, schedulers=1)
# No periodic comparison repairs anything while it is looked at.
PATIENT = {"conductor": {"conductor": {"reconcile_interval": 3600}}}


@pytest.fixture
def records(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """A server for the records only, which loses nothing in a restart."""
    return make_redis(appendonly="always")


@pytest.fixture
def cluster(records: RedisServer) -> Iterator[RunningCluster]:
    conductor = PATIENT["conductor"] | {"conductor_store": {"url": records.url()}}
    with clusters.running_cluster(SIZE, PATIENT | {"conductor": conductor}) as running:
        yield running


def gantt(cluster: RunningCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def differences(cluster: RunningCluster, *arguments: str) -> set[tuple[str, str]]:
    result = gantt(cluster, "audit", "--pause", "0", "-f", "json", *arguments)
    assert result.stdout, result.stderr
    return {(row["difference"], row["instance"]) for row in json.loads(result.stdout)}


def exchange(cluster: RunningCluster, server: RedisServer, source: Path, target: Path) -> None:
    """Copy one folder over the other while neither the conductor nor its store runs."""
    cluster.cluster.daemons["conductor"].kill_group()
    server.stop()
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    server.start()
    cluster.cluster.start_daemon("conductor")
    session = cluster.session
    truth.until("the conductor answers", lambda: session.call(session.conductor.check_store) is None)


def boot(cluster: RunningCluster) -> Any:
    instance = booting.boot(cluster)
    assert instance.status == "ACTIVE", instance.reason
    return instance


def test_audit_repairs_what_a_restored_backup_left(cluster: RunningCluster, records: RedisServer) -> None:
    data, backup = records.folder / "data", records.folder / "backup"
    healthy, deleted = boot(cluster), boot(cluster)
    exchange(cluster, records, data, backup)
    forgotten = boot(cluster)
    assert gantt(cluster, "server", "delete", deleted.uuid, "--wait").returncode == 0
    exchange(cluster, records, backup, data)
    expected = {("guest without record", forgotten.uuid), ("record without claim", deleted.uuid)}
    assert differences(cluster) == expected

    result = gantt(cluster, "audit", "--fix", "--pause", "0", "-f", "json")

    assert result.returncode == 0, (result.stdout, result.stderr)
    assert {(row["difference"], row["instance"]) for row in json.loads(result.stdout)} == expected
    assert differences(cluster) == set()
    records_after = {item.uuid: item.status for item in truth.records(cluster, [deleted.uuid, forgotten.uuid])}
    assert records_after == {deleted.uuid: "ERROR", forgotten.uuid: "ACTIVE"}
    truth.assert_consistent(cluster, [healthy.uuid, forgotten.uuid])


def test_servers_booted_since_the_backup_are_adopted_or_removed(cluster: RunningCluster, records: RedisServer) -> None:
    data, backup = records.folder / "data", records.folder / "backup"
    healthy = boot(cluster)
    exchange(cluster, records, data, backup)
    forgotten, unwanted = boot(cluster), boot(cluster)

    exchange(cluster, records, backup, data)

    # then their guests and claims live, and nothing can end them
    assert differences(cluster) == {("guest without record", item.uuid) for item in (forgotten, unwanted)}
    assert gantt(cluster, "server", "delete", forgotten.uuid).returncode == 1
    refused = gantt(cluster, "server", "adopt", names.host_of(healthy.host), healthy.uuid, str(healthy.uuid)[:-1] + "x")
    assert refused.returncode == 1 and "is not the uuid of an instance" in refused.stderr

    host = names.host_of(forgotten.host)
    adopted = gantt(cluster, "server", "adopt", host, forgotten.uuid, "--wait")
    assert adopted.returncode == 0, adopted.stderr
    removed = gantt(cluster, "server", "adopt", names.host_of(unwanted.host), unwanted.uuid, "--delete", "--wait")
    assert removed.returncode == 0, removed.stderr

    # then the adopted one is recorded as it runs, and both that remain are consistent
    (record,) = truth.records(cluster, [forgotten.uuid])
    expected = (forgotten.host, forgotten.attempt, forgotten.flavor, forgotten.project_id, forgotten.user_id)
    assert (record.host, record.attempt, record.flavor, record.project_id, record.user_id) == expected
    truth.assert_consistent(cluster, [healthy.uuid, forgotten.uuid])
    truth.until("the removed one has ended", lambda: unwanted.uuid not in {uuid for uuid, _ in truth.claims(cluster)})
    assert differences(cluster) == set()
    assert gantt(cluster, "server", "adopt", host, forgotten.uuid).returncode == 0
    assert gantt(cluster, "server", "delete", forgotten.uuid, "--wait").returncode == 0
    assert differences(cluster) == set()
