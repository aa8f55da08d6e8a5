# SPDX-License-Identifier: Apache-2.0
"""Live migrations in a whole cluster: completed by force, aborted, and with a source that is killed during the copy."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi import objects
from rpcapi.resources.names import host_of
from tests.support.clusters import booting, clusters, truth
from tests.support.clusters.clusters import RunningCluster

SIZE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
# A guest writes as fast as it is copied: a copy ends only by force, or when it is aborted or fails.
NEVER_CONVERGES = {"compute": {"simulator": {"copy_rate": 20, "dirty_rate": 20, "copy_downtime": 0.1}}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SIZE, NEVER_CONVERGES) as running:
        yield running


def migration_of(cluster: RunningCluster, server: str) -> dict[str, Any]:
    """Return the latest migration of a server, as the operator sees it."""
    rows = json.loads(booting.gantt(cluster, "migration", "list", "--server", server, "-f", "json"))
    return rows[-1]


def begin(cluster: RunningCluster) -> tuple[objects.Instance, str]:
    """Boot a server and begin to copy it; return both when the copy is under way."""
    server = booting.boot(cluster)
    assert server.status == "ACTIVE", server.reason
    booting.gantt(cluster, "server", "live-migrate", server.uuid)
    migration = truth.until("the copy is under way", lambda: _copying(cluster, server.uuid))
    return server, migration["uuid"]


def _copying(cluster: RunningCluster, server: str) -> dict[str, Any] | None:
    migration = migration_of(cluster, server)
    return migration if migration["status"] == "migrating" and migration["progress"] else None


def settled(cluster: RunningCluster, server: str) -> tuple[objects.Instance, dict[str, Any]]:
    """Wait until the server does not move any more; return its record and its migration."""

    def record() -> objects.Instance | None:
        (instance,) = truth.records(cluster, [server])
        return None if instance.status == "MIGRATING" else instance

    return truth.until("the live migration has ended", record), migration_of(cluster, server)


def test_forced_migration_completes_at_its_destination(cluster: RunningCluster) -> None:
    server, migration = begin(cluster)
    shown = json.loads(booting.gantt(cluster, "migration", "show", migration, "-f", "json"))
    assert shown["progress"].startswith("running: ") and " MiB left, " in shown["progress"]
    booting.gantt(cluster, "migration", "force-complete", migration)
    instance, ended = settled(cluster, server.uuid)
    assert (instance.status, ended["status"]) == ("ACTIVE", "completed")
    assert host_of(instance.host) != host_of(server.host)
    truth.assert_consistent(cluster, [server.uuid])


def test_aborted_migration_leaves_the_server_at_its_source(cluster: RunningCluster) -> None:
    server, migration = begin(cluster)
    booting.gantt(cluster, "migration", "abort", migration)
    instance, ended = settled(cluster, server.uuid)
    assert (instance.status, instance.host, ended["status"]) == ("ACTIVE", server.host, "cancelled")
    truth.assert_consistent(cluster, [server.uuid])


def test_agents_that_are_killed_during_the_copy_leave_the_server_at_its_source(cluster: RunningCluster) -> None:
    server, migration = begin(cluster)
    clusters.restart(cluster, "compute")  # one process has both ends
    booting.gantt(cluster, "migration", "abort", migration)
    instance, ended = settled(cluster, server.uuid)
    assert (instance.status, instance.host, ended["status"]) == ("ACTIVE", server.host, "cancelled")
    truth.assert_consistent(cluster, [server.uuid])


def test_server_that_is_deleted_during_the_copy_leaves_nothing(cluster: RunningCluster) -> None:
    server, _migration = begin(cluster)
    booting.gantt(cluster, "server", "delete", server.uuid, "--wait")
    assert migration_of(cluster, server.uuid)["status"] == "cancelled"
    assert not [ref for ref in truth.guests(cluster) if server.uuid in ref]
    truth.assert_consistent(cluster, [])
