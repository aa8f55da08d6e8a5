# SPDX-License-Identifier: Apache-2.0
"""Whole clusters on stores with failover: servers boot during the failover, none is lost or duplicated."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize
from devstack.confs import Groups
from devstack.servers.redis_cluster import RedisCluster
from scheduler_svc.store.redis.keys import prefix
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import boot_all
from tests.support.clusters.impatient import IMPATIENT
from tests.support.clusters.setups import KINDS, FailoverSetup, Kind, running_setup

KEY = prefix("default")  # the conductor's records are on the same primary, in a cluster of three too
TINY = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 1)
RECOVERY_SECONDS = 120.0


def on(setup: FailoverSetup) -> dict[str, Groups]:
    """Return the services' configuration for the store."""
    acknowledged = {"replicas_acknowledge": 1}
    scheduler, conductor = IMPATIENT["scheduler"], IMPATIENT["conductor"]
    patient = {**conductor["conductor"], "build_timeout": RECOVERY_SECONDS, "select_timeout": RECOVERY_SECONDS}
    return {
        **IMPATIENT,
        "scheduler": {
            **scheduler,
            "store": {**scheduler["store"], **acknowledged, "url": setup.url("scheduler")},
        },
        "conductor": {
            **conductor,
            "conductor": patient,
            "conductor_store": {**acknowledged, "url": setup.url("conductor")},
        },
    }


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hangs", [False, True], ids=["dies", "hangs"])
def test_servers_boot_during_failover(kind: Kind, hangs: bool) -> None:
    with (
        running_setup(kind) as setup,
        clusters.running_cluster(ClusterSize(computes=3, nodes_per_host=2), on(setup)) as cluster,
    ):
        session = cluster.session
        before = session.call(session.claims.verify).epoch
        uuids: list[str] = []
        with ThreadPoolExecutor(1) as caller:
            # Given servers that are requested one after the other, and some that run
            asking = caller.submit(boot_all, cluster, [TINY] * 60, uuids)
            truth.until("some run", lambda: len(truth.guests(cluster)) >= 5)
            # When the primary of claims and records is killed, or hangs for a while
            primary = setup.primary(KEY)
            (primary.pause if hangs else primary.kill)()
            truth.until("another takes over", lambda: setup.primary(KEY) is not primary)
            if hangs:
                primary.resume()
            elif isinstance(setup.group, RedisCluster):
                primary.start()  # it had the only replica
            asking.result(RECOVERY_SECONDS)
        # Then each of them runs, once, under its claim, in a new epoch
        assert len(uuids) == 60
        truth.until("a new epoch", lambda: session.call(session.claims.verify).epoch > before)
        exercise.wait_for_nodes(session, cluster.cluster.size.nodes, RECOVERY_SECONDS, lambda count: None)
        instances = truth.assert_consistent(cluster, uuids, RECOVERY_SECONDS)
        assert {instance.status: instance.reason for instance in instances} == {"ACTIVE": None}
        log = cluster.cluster.layout.log_file("compute").read_text()
        assert " 0 re-asserted" in log and not [line for line in log.splitlines() if _reasserted_some(line)]


def _reasserted_some(line: str) -> bool:
    return "re-asserted" in line and " 0 re-asserted" not in line
