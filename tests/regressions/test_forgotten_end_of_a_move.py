# SPDX-License-Identifier: Apache-2.0
"""Regression: a reverted instance ran under a claim that its partition's store did not have.

The store had forgotten the end of the move, and the source had audited before it learned of that end. The instance was
lost to the next comparison, and an evacuation started a second copy.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.regressions.partitions import BACKENDS, open_partition


@pytest.fixture(params=BACKENDS[:2])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MovingInstance]:
    """An instance that was reverted to h1, of which the partition's store has forgotten the last step."""
    for cluster in open_cluster(tmp_path, open_partition(request, tmp_path)):
        cluster.request("migrate", "h2")
        cluster.settle(MINUTE_MS)
        cluster.check_waits_for_confirm(("h1", 1), ("h2", 2))
        cluster.end_move("revert", 0)
        cluster.run_to_step(SagaStep.END_MOVE)
        cluster.mark()
        cluster.work()
        assert (cluster.instance.step, cluster.guests()) == (SagaStep.RESUME, [("h1", 1, "running")])
        cluster.hosts.queue.clear()  # the message to the source is lost, and repeated
        cluster.forget()
        cluster.audit_all()
        cluster.settle(2 * MINUTE_MS)
        assert cluster.guests() == [("h1", 1, "running")]
        yield cluster


def test_comparison_gives_the_guest_its_only_claim_again(cluster: MovingInstance) -> None:
    cluster.compare_often()
    cluster.check_rests_on("h1", 1)
    cluster.request("evacuate")
    cluster.settle(HOUR_MS)
    cluster.repair()
    cluster.check_rests_on("h1", 1)


def test_instance_moves_again_at_once(cluster: MovingInstance) -> None:
    cluster.request("live-migrate")
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h2")
    cluster.repair()
    cluster.check_rests_on("h2")
