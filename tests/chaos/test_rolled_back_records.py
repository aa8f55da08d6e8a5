# SPDX-License-Identifier: Apache-2.0
"""The conductors' store is restored from a backup that is older than a live migration under way.

An instance ran twice: the conductor built it at the destination, and its source ran on.
"""

import json
from collections.abc import Iterator

import pytest
import redis

from conductor.store.keys import PREFIX, key
from devstack import confs
from devstack.cluster_size import ClusterSize
from devstack.servers.redis_users import ADMIN
from rpcapi.resources.names import host_of
from tests.chaos.conftest import IMPATIENT
from tests.functional import booting, clusters, truth
from tests.functional.clusters import RunningCluster

# A guest writes as fast as it is copied: no copy ends by itself.
NEVER_CONVERGES = {"copy_rate": 20, "dirty_rate": 20, "copy_downtime": 0.1}
OVERRIDES = {
    **IMPATIENT,
    "conductor": confs.merge(IMPATIENT["conductor"], {"conductor": {"reconcile_interval": 2}}),
    "compute": {**IMPATIENT["compute"], "simulator": NEVER_CONVERGES},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(ClusterSize(computes=3, nodes_per_host=1, schedulers=1), OVERRIDES) as running:
        yield running


def back_up(client: redis.Redis) -> dict[bytes, bytes]:
    """Return a copy of the conductors' records."""
    return {name: client.dump(name) for name in client.scan_iter(match=PREFIX + "*", count=1000)}


def restore(client: redis.Redis, backup: dict[bytes, bytes]) -> None:
    """Restore a backup as docs/failures.md describes it: the conductors begin an epoch."""
    with client.pipeline(transaction=True) as pipeline:
        pipeline.delete(*client.scan_iter(match=PREFIX + "*", count=1000))
        for name, value in backup.items():
            pipeline.restore(name, 0, value)
        pipeline.hdel(key("meta"), "epoch")
        pipeline.execute()


def copying(cluster: RunningCluster, server: str) -> bool:
    rows = json.loads(booting.gantt(cluster, "migration", "list", "--server", server, "-f", "json"))
    return bool(rows and rows[-1]["status"] == "migrating" and rows[-1]["progress"])


def test_server_runs_on_at_its_source(cluster):
    client = redis.Redis.from_url(cluster.cluster.store.url(ADMIN.name))
    server = booting.boot(cluster)
    backup = back_up(client)
    booting.gantt(cluster, "server", "live-migrate", server.uuid)
    truth.until("the copy is under way", lambda: copying(cluster, server.uuid))
    assert len(truth.claims(cluster)) == len(truth.guests(cluster)) == 2

    cluster.cluster.daemons["conductor"].kill_group()
    restore(client, backup)
    clusters.restart(cluster, "conductor")

    # The destination ends; the guest, its claim and its record stay as they were before the migration
    truth.until("one end is left", lambda: len(truth.guests(cluster)) == 1)
    (instance,) = truth.assert_consistent(cluster, [server.uuid])
    assert (instance.status, host_of(instance.host)) == ("ACTIVE", host_of(server.host))
    assert not truth.sources(cluster)
    booting.gantt(cluster, "server", "delete", server.uuid, "--wait")
    truth.assert_consistent(cluster, [])
    assert not truth.guests(cluster)
