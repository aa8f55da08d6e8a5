# SPDX-License-Identifier: Apache-2.0
"""A replica that lacks the last claims is promoted: the epoch closes every host until its agent has audited."""

import re
from collections.abc import Callable

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize
from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import TINY
from tests.support.clusters.impatient import IMPATIENT


def test_promoted_replica_lacks_the_last_claims(make_redis: Callable[..., RedisServer]):
    # Given a store with a replica; the conductor's records are on another server, so that only claims can be lost
    primary = make_redis(users=STORE_USERS, port=free_port(), appendonly="everysec")
    replica = make_redis(users=STORE_USERS, port=free_port(), appendonly="everysec", replica_of=primary)
    apart = make_redis(users=STORE_USERS)
    overrides = {
        **IMPATIENT,
        "scheduler": {
            **IMPATIENT["scheduler"],
            "store": {**IMPATIENT["scheduler"]["store"], "url": primary.url("scheduler")},
        },
        "conductor": {**IMPATIENT["conductor"], "conductor_store": {"url": apart.url("conductor")}},
    }
    with clusters.running_cluster(ClusterSize(computes=3, nodes_per_host=2), overrides) as running:
        session = running.session
        replicated = exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 6)])
        truth.assert_consistent(running, replicated)
        before = session.call(session.claims.verify)
        truth.until("the replica is up to date", lambda: _offset(replica) == _offset(primary))
        # When it is cut off, more servers boot, the primary dies and the replica takes its place
        with replica.client() as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        unreplicated = exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 6)])
        assert {instance.status for instance in truth.wait_for_final_status(running, unreplicated)} == {"ACTIVE"}
        primary.kill()
        replica.promote()
        # Then a new epoch begins, each host opens after its agent's audit, and running servers are claimed again
        truth.until("a new epoch", lambda: session.call(session.claims.verify).epoch > before.epoch)
        exercise.wait_for_nodes(session, 6, 60, lambda node_count: None)
        log = running.cluster.layout.log_file("compute").read_text()
        assert sum(int(count) for count in re.findall(r"(\d+) claims re-asserted", log)) == len(unreplicated)
        truth.assert_consistent(running, [*replicated, *unreplicated])
        hosts = {
            state.name: state.document
            for state in session.list_all(session.scheduler.list_host_state, "states", "service")
        }
        assert all(hosts[f"compute{number}"]["audited"] for number in range(3))
        # And the cluster keeps working
        truth.assert_consistent(running, exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 3)]))


def _offset(server: RedisServer) -> int:
    with server.client() as client:
        info = client.info("replication")
    return info.get("slave_repl_offset", info["master_repl_offset"])
