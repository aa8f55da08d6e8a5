# SPDX-License-Identifier: Apache-2.0
"""Regression: after the conductors' store forgot that a resize was reverted, a second revert ended the only guest.

The saga took the claim on the source for the destination's and waited for confirm or revert again. A confirm gave the
record a flavor that the guest did not have.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.regressions.moves import DAY_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.simulation.moves_cluster import FLAVORS
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    """An instance that was resized to m1.2 and reverted; the conductors' store has forgotten the revert."""
    for cluster in open_cluster(tmp_path, memory_partition()):
        cluster.request("resize", flavor=FLAVORS["m1.2"])
        cluster.settle(MINUTE_MS)
        cluster.check_waits_for_confirm(("h1", 1), ("h1", 2))
        cluster.mark_records()
        cluster.end_move("revert", 0)
        cluster.settle()
        cluster.check_rests_on("h1", 1)
        cluster.forget_records()
        assert cluster.instance.status == "VERIFY_RESIZE"
        yield cluster


@pytest.mark.parametrize("verb", ["revert", "confirm"])
def test_record_that_was_compared_with_its_claim(cluster: MovingInstance, verb: str) -> None:
    cluster.settle(MINUTE_MS)
    cluster.compare_often()
    check_is_reverted(cluster)
    # When the owner, who saw VERIFY_RESIZE, ends the move
    cluster.end_move(verb, 0)
    cluster.settle(DAY_MS)
    cluster.repair()
    check_is_reverted(cluster)


@pytest.mark.parametrize("verb", ["revert", "confirm"])
def test_record_that_was_not_compared(cluster: MovingInstance, verb: str) -> None:
    cluster.end_move(verb, 0)
    cluster.settle(DAY_MS)
    cluster.repair()
    check_is_reverted(cluster)


def test_delete_of_a_record_that_was_not_compared(cluster: MovingInstance) -> None:
    cluster.check_deletes()


def check_is_reverted(cluster: MovingInstance) -> None:
    """Assert that the instance runs at its source with its former flavor."""
    cluster.check_rests_on("h1", 1)
    assert (cluster.instance.flavor, cluster.instance.amounts) == (None, None)
    assert cluster.allocations() == [{"h1/n": {"VCPU": 1, "MEMORY_MB": 1024}}]
