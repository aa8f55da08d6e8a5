# SPDX-License-Identifier: Apache-2.0
"""Regression: the deletion of a server that had returned from a move waited for its claim, not for its host's report.

The report was taken for one of the destination. Each try to look at the claim came later than the one before, so a
store that had forgotten the end of the claim kept the server in DELETING for minutes.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import MINUTE_MS, MovingInstance, open_cluster
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, memory_partition())


@pytest.mark.parametrize("step", [SagaStep.END_MOVE, SagaStep.RESUME])
def test_deletion_follows_the_report(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.request("migrate", "h2")
    cluster.settle(MINUTE_MS)
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    cluster.work()
    cluster.delete([cluster.uuid])
    cluster.settle(3_000)
    assert cluster.instance.status == "DELETED", cluster.instance
