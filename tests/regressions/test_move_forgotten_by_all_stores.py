# SPDX-License-Identifier: Apache-2.0
"""A power loss took all stores back: the record lacked a move, and the destination's partition its claim.

The claim was looked for in that partition, not found, and the source started its guest beside that of the destination.
"""

import copy

from scheduler_svc.core.records import Claim
from scheduler_svc.store.records import RunningClaim
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.partitions import WEST
from tests.support.conductor.simulated_cluster import migration_of, uuid_list
from tests.support.conductor.two_partitions import TwoPartitionCluster

(UUID,) = uuid_list(1)


def test_source_waits_for_the_hosts_of_the_other_partition() -> None:
    # Given a server that has moved to another partition
    cluster = TwoPartitionCluster({"h1/n": 2}, {"w1/n": 1})
    cluster.conductor()
    cluster.build([UUID])
    cluster.settle()
    records = cluster.copy_records()
    west = cluster.ledger.by_partition[WEST]
    before = copy.deepcopy(west.store.state)
    cluster.migrate([UUID], allow_cross_cell=True)
    cluster.settle()
    assert cluster.statuses([UUID]) == ["VERIFY_RESIZE"]
    # When the conductors' store forgets the move, and that partition its claim
    guest = west.store.claims(consumer=UUID)[0]
    before.epoch, before.position = west.store.state.epoch, west.store.state.position
    west.store.state = before
    west.store.name_hosts(west.store.begin_epoch(), [], complete=True)
    cluster.restore_records(records)
    cluster.compare()
    cluster.settle(60_000)
    # Then the server waits for its destination, which runs it
    assert cluster.record(UUID).step == "settle"
    assert cluster.partition_of(migration_of(UUID)) == PARTITION
    assert cluster.hosts.running_guests_of(UUID) == [(UUID, 2)]
    # And once that has audited, the move is found
    running = [as_running(claim) for claim in guest]
    west.store.audit("w1", west.store.snapshot().epoch, running, 0)
    cluster.settle()
    assert cluster.statuses([UUID]) == ["VERIFY_RESIZE"]
    assert cluster.hosts.running_guests_of(UUID) == [(UUID, 2)]
    assert cluster.partition_of(UUID) == WEST
    cluster.check([UUID])


def as_running(claim: Claim) -> RunningClaim:
    """Return a claim as its host reports it."""
    return RunningClaim(claim.consumer, claim.attempt, True, claim.host, claim.allocations, "INSTANCE", "p", "u", "r")
