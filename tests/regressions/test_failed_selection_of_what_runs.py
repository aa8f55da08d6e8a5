# SPDX-License-Identifier: Apache-2.0
"""A selection that fails stops no guest that runs under a confirmed claim.

Both stores had forgotten a boot. Its repeated selection failed, as with a forced host that had not reported yet or
with forgotten aggregates. When its host audited, the claim was back, and its host was sent a terminate message.
"""

from rpcapi.resources.claims import Answer
from scheduler_svc.scheduling import refusals
from tests.regressions.forgotten_boots import (
    MINUTE_MS,
    come_back,
    lose_partition,
)
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list


def test_instance_whose_selection_failed_is_found_where_it_runs() -> None:
    cluster = SimulatedCluster(THREE)
    cluster.conductor()
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    records = cluster.copy_records()
    cluster.settle()
    assert cluster.record(uuid).host == "h1/n"
    # Given that both stores forgot the boot, and that its selection fails before it reaches the claims
    cluster.restore_records(records)
    lose_partition(cluster, uuid, "h1")
    cluster.scheduler.fail.append(refusals.no_valid_host({}))
    # When the instance is selected again, and its host comes back later
    cluster.settle(MINUTE_MS)
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]
    assert come_back(cluster, uuid, "h1") is Answer.CONFIRMED
    cluster.settle()
    # Then it runs on, and its record says so
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    cluster.check([uuid])
