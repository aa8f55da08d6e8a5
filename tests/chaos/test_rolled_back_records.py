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
from devstack.deploy.users.redis_users import ADMIN
from rpcapi.resources.names import host_of
from tests.chaos.backups import back_up, restore
from tests.support.clusters import booting, clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.impatient import IMPATIENT

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


def copying(cluster: RunningCluster, server: str) -> bool:
    rows = json.loads(booting.gantt(cluster, "migration", "list", "--server", server, "-f", "json"))
    return bool(rows and rows[-1]["status"] == "migrating" and rows[-1]["progress"])


def test_server_runs_on_at_its_source(cluster):
    client = redis.Redis.from_url(cluster.cluster.store.url(ADMIN.name))
    server = booting.boot(cluster)
    backup = back_up(client, PREFIX)
    booting.gantt(cluster, "server", "live-migrate", server.uuid)
    truth.until("the copy is under way", lambda: copying(cluster, server.uuid))
    assert len(truth.claims(cluster)) == len(truth.guests(cluster)) == 2

    cluster.cluster.daemons["conductor"].kill_group()
    # The conductors begin an epoch, as docs/failures.md describes it.
    restore(client, PREFIX, backup, lambda pipeline: pipeline.hdel(key("meta"), "epoch"))
    clusters.restart(cluster, "conductor")

    # The destination ends; the guest, its claim and its record stay as they were before the migration
    truth.until("one end is left", lambda: len(truth.guests(cluster)) == 1)
    (instance,) = truth.assert_consistent(cluster, [server.uuid])
    assert (instance.status, host_of(instance.host)) == ("ACTIVE", host_of(server.host))
    assert not truth.sources(cluster)
    booting.gantt(cluster, "server", "delete", server.uuid, "--wait")
    truth.assert_consistent(cluster, [])
    assert not truth.guests(cluster)
