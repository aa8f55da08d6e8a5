# SPDX-License-Identifier: Apache-2.0
"""The revert of a server that was off was forgotten by the records and the destination's store, at one moment.

A confirm ended the source: it had stopped the guest for no move, and the destination's restored claim seemed to run it.
"""

from pathlib import Path

import pytest

from tests.support.simulation.moves_cluster import RECORDS, SPEC, MovesCluster
from tests.support.store.backends import memory_partition


@pytest.mark.parametrize("stores", [["h3"], [RECORDS], ["h3", RECORDS], ["h1", RECORDS], ["h1", "h3"]])
@pytest.mark.parametrize("is_off", [False, True])
@pytest.mark.parametrize("is_divided", [False, True])
@pytest.mark.parametrize("is_audited", [False, True])
def test_the_last_copy_stays(
    tmp_path: Path, is_divided: bool, is_off: bool, stores: list[str], is_audited: bool
) -> None:
    west = {"west": memory_partition(partition="west"), "west_hosts": ["h3"]} if is_divided else {}
    cluster = MovesCluster(tmp_path, memory_partition(), slots=1, **west)
    cluster.settle()
    cluster.check_always()
    if is_off:
        cluster.change("stop", 0)
        cluster.settle()
    cluster.move("migrate", 0, "h3", SPEC)
    cluster.settle()
    cluster.check_always()
    assert cluster.record(cluster.slots[0]).status == "VERIFY_RESIZE"
    cluster.mark()
    cluster.mark_records()
    cluster.end_move("revert", 0)
    cluster.settle()
    assert cluster.record(cluster.slots[0]).host == "h1/n"
    cluster.forget_together(stores)
    if is_audited:
        cluster.hosts.audit("h3")
    cluster.end_move("confirm", 0)
    cluster.settle(600_000)
    cluster.check_always()
    cluster.rest()
    cluster.close()
