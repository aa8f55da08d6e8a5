# SPDX-License-Identifier: Apache-2.0
"""A partition's store is restored from a backup while no scheduler runs, and nothing in its server's identity tells."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from devstack import confs, exercise, workload
from devstack.cluster_size import ClusterSize
from devstack.deploy.users.redis_users import ADMIN
from scheduler_svc.store.redis.keys import prefix
from tests.chaos.backups import back_up, restore
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.impatient import IMPATIENT

HEAD = prefix(confs.PARTITION)
HOSTS = 2
TINY = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
# Only with this durability does a server that restarts with its data count as one that has lost nothing.
DURABLE = confs.merge(IMPATIENT["scheduler"], {"store": {"durability": "always"}})


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    overrides = {**IMPATIENT, "scheduler": DURABLE}
    with clusters.running_cluster(ClusterSize(computes=HOSTS, nodes_per_host=2), overrides) as running:
        yield running


def epochs(client: redis.Redis) -> int:
    """Return the number of epochs that the partition's log has begun."""
    return sum(fields[b"kind"] == b"epoch" for _id, fields in client.xrange(HEAD + "log"))


def position(client: redis.Redis) -> int:
    return int(client.hget(HEAD + "meta", "position") or 0)


def stamped_positions(cluster: RunningCluster) -> list[int]:
    """Return the position in the stamp of each host that has one on disk."""
    files: list[Path] = list((cluster.cluster.layout.state / "compute").rglob("stamp"))
    return [int(json.loads(path.read_text())["stamp"].split(".")[1]) for path in files]


def test_one_epoch_begins_after_which_claims_are_what_runs(cluster):
    client = redis.Redis.from_url(cluster.cluster.store.url(ADMIN.name))
    # given servers from before a backup, and servers that only the agents remember
    request = workload.WorkloadRequest("tiny", TINY, 3)
    before = exercise.boot(cluster.session, [request])
    truth.assert_consistent(cluster, before)
    backup = back_up(client, HEAD)
    after = exercise.boot(cluster.session, [replace(request, count=12)])
    instances = truth.assert_consistent(cluster, after)
    assert {instance.status for instance in instances} == {"ACTIVE"}
    booted = position(client)
    # And each host proves it, whichever reports first: the registration of one would else hide what the other knows
    truth.until(
        "all hosts have stamps of that time",
        lambda: len(positions := stamped_positions(cluster)) == HOSTS and min(positions) >= booted,
    )

    # when the backup is restored under a scheduler that starts anew, and agents that do too
    for daemon in ("compute", "scheduler"):
        cluster.cluster.daemons[daemon].kill_group()
    restore(client, HEAD, backup)
    epochs_before = epochs(client)
    clusters.restart(cluster, "scheduler")
    clusters.restart(cluster, "compute")

    # then one epoch begins, and every guest has its claim again
    truth.until("an epoch begins", lambda: epochs(client) > epochs_before)
    running = set(truth.guests(cluster))
    assert {uuid for uuid, _node in running} == {*before, *after}
    truth.until("claims are what runs", lambda: set(truth.claims(cluster)) == running)
    truth.until("all nodes open", lambda: exercise.open_nodes(cluster.session) == cluster.cluster.size.nodes)
    assert epochs(client) == epochs_before + 1
    assert set(truth.guests(cluster)) == running
    assert cluster.session.call(cluster.session.claims.verify).clean
