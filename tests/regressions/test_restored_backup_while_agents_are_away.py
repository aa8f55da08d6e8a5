# SPDX-License-Identifier: Apache-2.0
"""A backup restored while no agent ran was not noticed: what it had forgotten was built a second time."""

import copy

import pytest

from conductor.stamps import PartitionStamps
from rpcapi.resources.claims import Answer
from scheduler_svc.host_state.stamps import StampSigner
from tests.regressions.forgotten_boots import MINUTE_MS, come_back
from tests.regressions.restorable_deployments import KEY
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import CTXT, HORIZON_MS, THREE, SimulatedCluster, uuid_list


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster whose scheduler signs stamps."""
    created = SimulatedCluster(THREE)
    created.scheduler.signer = StampSigner(KEY)
    created.conductor()
    return created


def run_and_restore(cluster: SimulatedCluster, uuid: str) -> None:
    """Run an instance on h1, and take both stores back to before its selection, the partition without an epoch."""
    cluster.build([uuid])
    records, backup = cluster.copy_records(), copy.deepcopy(cluster.ledger.store.state)
    cluster.settle()
    assert cluster.record(uuid).host == "h1/n"
    PartitionStamps(cluster.store, cluster.scheduler).exchange(CTXT)  # type: ignore[arg-type]
    cluster.ledger.store.state = backup
    cluster.restore_records(records)


def test_boot_that_a_backup_forgot_waits_for_its_host(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    run_and_restore(cluster, uuid)
    cluster.settle(4 * HORIZON_MS)
    assert cluster.statuses([uuid]) == ["SCHEDULING"]
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]
    # When its host comes back, and all others are audited, then its guest goes on
    assert come_back(cluster, uuid, "h1") is Answer.CONFIRMED
    store = cluster.ledger.store
    store.name_hosts(store.snapshot().epoch, [], complete=True)
    for host in ("h2", "h3"):
        cluster.ledger.audit(host)
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    cluster.check([uuid])


def test_delete_of_what_a_backup_forgot_waits_for_its_host(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    run_and_restore(cluster, uuid)
    cluster.delete([uuid])
    cluster.settle(4 * HORIZON_MS)
    assert cluster.statuses([uuid]) == ["DELETING"]


def test_partition_that_does_not_answer_is_waited_for(cluster: SimulatedCluster) -> None:
    """Given a partition that was restored, and whose store answers only to the next call."""
    (uuid,) = uuid_list(1)
    run_and_restore(cluster, uuid)
    cluster.scheduler.silent.add(PARTITION)
    cluster.settle(10 * MINUTE_MS)
    assert cluster.statuses([uuid]) == ["SCHEDULING"]
    assert "does not answer" in cluster.reason(uuid)
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]


def test_boot_that_is_certain_exchanges_no_stamps(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.scheduler.silent.add(PARTITION)
    cluster.store.keep_stamps({PARTITION: "1.1.x"})
    cluster.build([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
