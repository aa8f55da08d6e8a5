# SPDX-License-Identifier: Apache-2.0
"""Regression: an instance whose move the conductors' store forgot could neither be stopped, deleted nor evacuated.

The destination's claim had expired, and the guest ran at its source under the claim of a migration that no record
named. No conductor handled the answer that the claim had moved.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, memory_partition())


def before_stop(cluster: MovingInstance) -> None:
    """The source has not got the message to stop."""


def after_stop(cluster: MovingInstance) -> None:
    """The source has stopped its guest, and journalled the move."""
    while cluster.guests() != [("h1", 1, "off")]:
        assert cluster.work() or cluster.hosts.deliver()


Progress = Callable[[MovingInstance], None]
progresses = pytest.mark.parametrize("progress", [before_stop, after_stop])


def forget_move(cluster: MovingInstance, progress: Progress) -> None:
    """Let the conductors' store forget a cold move, and its destination's claim expire: the guest runs on or again."""
    cluster.mark_records()
    cluster.request("migrate")
    cluster.run_to_step(SagaStep.STOP_SOURCE)
    progress(cluster)
    cluster.hosts.queue.clear()
    cluster.forget_records()
    cluster.partition.pass_deadline_of(cluster.uuid)
    cluster.settle(MINUTE_MS)
    cluster.compare_often()
    cluster.check_rests_on("h1", 1)


@progresses
def test_instance_stops_and_is_deleted(cluster: MovingInstance, progress: Progress) -> None:
    forget_move(cluster, progress)
    cluster.stop([cluster.uuid])
    cluster.settle(HOUR_MS)
    cluster.repair()
    cluster.check_rests_on("h1", 1, state="off")
    cluster.check_deletes()


@progresses
def test_instance_is_deleted(cluster: MovingInstance, progress: Progress) -> None:
    forget_move(cluster, progress)
    cluster.check_deletes()


@progresses
def test_instance_of_a_fenced_host_is_evacuated(cluster: MovingInstance, progress: Progress) -> None:
    forget_move(cluster, progress)
    cluster.lose_host("h1")
    assert (cluster.instance.status, cluster.ledger.live()) == ("ERROR", {})
    cluster.request("evacuate")
    cluster.settle()
    # When the host is back, then its guest is removed
    cluster.hosts.start("h1")
    cluster.repair()
    cluster.check_rests_on("h2")


def test_stopped_instance_with_a_prepared_destination_stays_off(cluster: MovingInstance) -> None:
    cluster.stop([cluster.uuid])
    cluster.settle(MINUTE_MS)
    cluster.mark_records()
    cluster.request("migrate")
    cluster.run_to_step(SagaStep.CAST)
    cluster.forget_records()
    cluster.compare_often()
    cluster.settle(HOUR_MS)
    cluster.repair()
    cluster.check_rests_on("h1", 1, state="off")
