# SPDX-License-Identifier: Apache-2.0
"""A partition forgot that a claim is the source of a move to another one, and its host reported it before the move.

Nothing made the claim a source again: the server had two claims that both said to be its only one.
"""

import copy

import pytest

from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.partitions import WEST
from tests.support.conductor.simulated_cluster import migration_of, uuid_list
from tests.support.conductor.two_partitions import TwoPartitionCluster

(UUID,) = uuid_list(1)


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_comparison_begins_the_move_again(end: str) -> None:
    # Given a server that has moved to another partition, the begin of which the partition of its source forgot
    cluster = TwoPartitionCluster({"h1/n": 2}, {"w1/n": 1})
    cluster.conductor()
    cluster.build([UUID])
    cluster.settle()
    ledger = cluster.ledger.by_partition[PARTITION]
    before = copy.deepcopy(ledger.store.state)
    cluster.migrate([UUID], allow_cross_cell=True)
    cluster.settle()
    before.epoch, before.position = ledger.store.state.epoch, ledger.store.state.position
    ledger.store.state = before
    ledger.store.name_hosts(ledger.store.begin_epoch(), [], complete=True)
    ledger.audit("h1")
    assert ledger.live() == {UUID: ("h1/n", 1, "confirmed")}
    # When the record is compared with the claims, then the migration holds the source again
    cluster.compare()
    assert cluster.partition_of(migration_of(UUID)) == PARTITION
    assert cluster.partition_of(UUID) == WEST
    assert cluster.statuses([UUID]) == ["VERIFY_RESIZE"]
    # And the move ends as usual
    getattr(cluster, end)([UUID])
    cluster.settle()
    cluster.check([UUID])
    assert cluster.partition_of(UUID) == (WEST if end == "confirm" else PARTITION)
    assert cluster.partition_of(migration_of(UUID)) is None


def test_comparison_leaves_a_move_that_has_ended_alone() -> None:
    # Given a record in VERIFY_RESIZE that lacks the end of its move
    cluster = TwoPartitionCluster({"h1/n": 2}, {"w1/n": 1})
    cluster.conductor()
    cluster.build([UUID])
    cluster.settle()
    cluster.migrate([UUID], allow_cross_cell=True)
    cluster.settle()
    records = cluster.copy_records()
    cluster.revert([UUID])
    cluster.settle()
    cluster.restore_records(records)
    assert cluster.statuses([UUID]) == ["VERIFY_RESIZE"]
    # When it is compared, then its claim stays the only one
    cluster.compare()
    cluster.settle()
    assert cluster.partition_of(UUID) == PARTITION
    assert cluster.partition_of(migration_of(UUID)) is None
    assert cluster.statuses([UUID]) == ["ACTIVE"]
    cluster.check([UUID])
