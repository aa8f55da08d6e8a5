# SPDX-License-Identifier: Apache-2.0
"""A server that was off was migrated to another partition; the records and the source's partition forgot that.

It was started before its source had audited: its destination's guest and claim stay, in the other partition.
"""

from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.support.simulation.moves_cluster import RECORDS, SPEC, MovesCluster
from tests.support.store.backends import memory_partition


@pytest.mark.parametrize("is_reverted", [False, True])
@pytest.mark.parametrize("stores", [["h1"], [RECORDS], ["h1", RECORDS]])
@pytest.mark.parametrize("is_off", [False, True])
def test_destination_does_not_stay(tmp_path: Path, is_off: bool, stores: list[str], is_reverted: bool) -> None:
    cluster = MovesCluster(
        tmp_path, memory_partition(), slots=1, west=memory_partition(partition="west"), west_hosts=["h2", "h3"]
    )
    cluster.settle()
    (uuid,) = cluster.slots
    if is_off:
        cluster.change("stop", 0)
        cluster.settle()
    cluster.mark()
    cluster.mark_records()
    cluster.move("migrate", 0, None, SPEC)
    cluster.settle()
    assert cluster.record(uuid).status == "VERIFY_RESIZE"
    if is_reverted:
        cluster.end_move("revert", 0)
        while cluster.record(uuid).step != SagaStep.STOP_DESTINATION:
            assert cluster.work() or cluster.hosts.deliver()
    cluster.forget_together(stores)
    cluster.change("start", 0)
    cluster.settle(600_000)
    cluster.rest()
    cluster.close()
