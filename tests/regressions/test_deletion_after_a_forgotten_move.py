# SPDX-License-Identifier: Apache-2.0
"""Regression: a server whose move the conductors' store had forgotten was deleted, and ran on at its destination.

The delete ended the attempt of its record only. The guest of the deleted server kept its confirmed claim.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    for cluster in open_cluster(tmp_path, memory_partition()):
        cluster.ledger.ttl_ms = MINUTE_MS
        cluster.mark_records()
        yield cluster


def forget_and_delete(cluster: MovingInstance) -> None:
    cluster.hosts.queue.clear()
    cluster.forget_records()
    assert (cluster.instance.status, cluster.instance.attempt) == ("ACTIVE", 1)
    cluster.check_deletes()


@pytest.mark.parametrize("step", [SagaStep.STOP_SOURCE, SagaStep.WAIT])
def test_cold_move(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.request("migrate")
    cluster.run_to_step(step)
    forget_and_delete(cluster)


@pytest.mark.parametrize("step", [SagaStep.COPY, SagaStep.SWITCH])
def test_live_move(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.request("live-migrate")
    cluster.settle_until(lambda: cluster.instance.step == step)
    forget_and_delete(cluster)


@pytest.mark.parametrize("end", ["confirm", "revert", None])
def test_finished_moves(cluster: MovingInstance, end: str | None) -> None:
    """Given an instance that has moved twice, and that has begun to move a third time."""
    for _ in range(2):
        cluster.request("migrate")
        cluster.settle(HOUR_MS)
        cluster.end_move("confirm", 0)
        cluster.settle(HOUR_MS)
    cluster.request("migrate")
    cluster.settle(HOUR_MS)
    if end is not None:
        cluster.end_move(end, 0)
        cluster.settle(HOUR_MS)
    forget_and_delete(cluster)
