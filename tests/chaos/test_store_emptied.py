# SPDX-License-Identifier: Apache-2.0
"""The store of the claims comes back empty under running servers: they keep running, under the same claims."""

from collections.abc import Callable

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize
from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers.redis import RedisServer
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import TINY
from tests.support.clusters.impatient import IMPATIENT


def test_servers_keep_running_under_the_same_claims(make_redis: Callable[..., RedisServer]):
    # Given servers whose claims are in a store of their own
    emptied = make_redis(users=STORE_USERS, appendonly="everysec")
    scheduler = {**IMPATIENT["scheduler"]["store"], "url": emptied.url("scheduler")}
    apart = make_redis(users=STORE_USERS)
    overrides = {
        **IMPATIENT,
        "scheduler": {**IMPATIENT["scheduler"], "store": scheduler},
        "conductor": {**IMPATIENT["conductor"], "conductor_store": {"url": apart.url("conductor")}},
    }
    with clusters.running_cluster(ClusterSize(computes=3, nodes_per_host=2), overrides) as running:
        session = running.session
        servers = exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 12)])
        truth.assert_consistent(running, servers)
        guests, claims = truth.guests(running), truth.claims(running)
        epoch = session.call(session.claims.verify).epoch
        # When all its data is gone, twice
        for _ in range(2):
            with emptied.client() as client:
                client.execute_command("FLUSHALL")
            epoch = truth.until("a new epoch", lambda earlier=epoch: _later_epoch(session, earlier))
            # Then the hosts audit, and no guest was stopped or started
            truth.until("the same claims", lambda: truth.claims(running) == claims)
            exercise.wait_for_nodes(session, 6, 60, lambda node_count: None)
            assert truth.guests(running) == guests
            truth.assert_consistent(running, servers)
        truth.until("no host is awaited", lambda: not session.call(session.claims.verify).awaited)
        # And servers are deleted and booted as before
        session.call(session.conductor.delete_instances, servers[:6])
        more = exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 3)])
        truth.assert_consistent(running, [*servers[6:], *more])


def _later_epoch(session, epoch: int) -> int | None:
    later = session.call(session.claims.verify).epoch
    return later if later > epoch else None
