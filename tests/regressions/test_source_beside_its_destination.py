# SPDX-License-Identifier: Apache-2.0
"""Regression: a guest that was live-migrated was stopped after its partition's store forgot the begin of the move.

The destination's claim seemed to prove that the source's attempt had ended. In fact its guest was empty and paused.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import HOUR_MS, MovingInstance, open_cluster
from tests.regressions.partitions import BACKENDS, open_partition


@pytest.fixture(params=BACKENDS[:2])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, open_partition(request, tmp_path))


@pytest.mark.parametrize("order", [("h1", "h2", "h3"), ("h2", "h1", "h3")], ids=["source first", "destination first"])
def test_guest_is_copied_and_never_ended(cluster: MovingInstance, order: tuple[str, ...]) -> None:
    # Given a prepared destination, and a source that has not heard of the move
    cluster.mark()
    cluster.request("live-migrate", "h2")
    cluster.run_to_step(SagaStep.COPY)
    assert cluster.guests() == [("h1", 1, "running"), ("h2", 2, "paused")]
    # When the partition's store forgets the move, and the hosts audit
    cluster.forget()
    cluster.audit_all(order)
    # Then both ends have their claims, and the guest runs on until it is copied
    assert cluster.guests() == [("h1", 1, "running"), ("h2", 2, "paused")]
    migration = cluster.instance.move.uuid
    assert cluster.ledger.live() == {
        migration: ("h1/n", 1, "confirmed"),
        cluster.uuid: ("h2/n", 2, "confirmed"),
    }
    cluster.settle(HOUR_MS)
    cluster.repair()
    cluster.check_rests_on("h2", 2)
    assert cluster.store.migrations([migration])[migration].status == "completed"
