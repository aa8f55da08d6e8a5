# SPDX-License-Identifier: Apache-2.0
"""Regression: a revert removed the guest at its destination before the source, which was dead, could run it.

No copy was left. The destination keeps its guest until the source has reported that it runs.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import DAY_MS, HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.store.backends import memory_partition

SOURCE, DESTINATION = ("h1", 1), ("h2", 2)
RETURNING = (SagaStep.STOP_SOURCE, SagaStep.STOP_DESTINATION, SagaStep.RESUME)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    """An instance that was migrated from h1 to h2."""
    for cluster in open_cluster(tmp_path, memory_partition()):
        cluster.mark_records()
        cluster.request("migrate", "h2")
        cluster.settle(MINUTE_MS)
        cluster.check_waits_for_confirm(SOURCE, DESTINATION)
        yield cluster


def burn(cluster: MovingInstance, host: str) -> None:
    """Lose a machine with its guests."""
    cluster.hosts.kill(host)
    cluster.hosts.off.add(host)
    cluster.hosts.lose_guests(host)


def test_guest_runs_on_while_its_source_is_silent(cluster: MovingInstance) -> None:
    burn(cluster, "h1")
    cluster.end_move("revert", 0)
    cluster.settle(HOUR_MS)
    assert cluster.guests() == [(*DESTINATION, "running")]
    assert cluster.instance.status == "REVERT_RESIZE"

    cluster.lose_host("h1")
    cluster.settle(HOUR_MS)
    cluster.check_rests_on(*DESTINATION)
    assert cluster.instance.migration is not None
    assert cluster.instance.migration.status == "error"


@pytest.mark.parametrize("step", RETURNING)
def test_source_that_burns_during_the_revert(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    burn(cluster, "h1")
    cluster.settle(HOUR_MS)
    cluster.lose_host("h1")
    cluster.settle(HOUR_MS)
    cluster.check_rests_on(*DESTINATION)
    cluster.check_deletes()


def test_server_that_was_off_stays_off(cluster: MovingInstance) -> None:
    cluster.end_move("confirm", 0)
    cluster.settle(MINUTE_MS)
    cluster.change("stop", 0)
    cluster.settle(MINUTE_MS)
    cluster.request("migrate", "h1")
    cluster.settle(MINUTE_MS)
    cluster.end_move("revert", 0)
    cluster.run_to_step(SagaStep.STOP_DESTINATION)
    burn(cluster, "h2")
    cluster.settle(HOUR_MS)
    cluster.lose_host("h2")
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h1", state="off")


@pytest.mark.parametrize("step", RETURNING)
def test_source_that_restarts_during_the_revert(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    cluster.hosts.kill("h1")
    cluster.settle(HOUR_MS)
    cluster.hosts.start("h1")
    cluster.settle(HOUR_MS)
    cluster.check_rests_on(*SOURCE)
    cluster.check_deletes()


@pytest.mark.parametrize("step", RETURNING)
def test_destination_that_burns_during_the_revert(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    burn(cluster, "h2")
    cluster.settle(MINUTE_MS)
    cluster.lose_host("h2")
    cluster.settle(HOUR_MS)
    cluster.check_rests_on(*SOURCE)


@pytest.mark.parametrize("step", [*RETURNING, SagaStep.TERMINATE])
def test_deletion_during_the_revert(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    cluster.check_deletes()


@pytest.mark.parametrize("step", [*RETURNING, SagaStep.TERMINATE])
def test_conductors_store_that_forgets_the_move_during_its_revert(cluster: MovingInstance, step: SagaStep) -> None:
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    cluster.forget_records()
    cluster.settle(HOUR_MS)
    cluster.repair()
    states = [state for _host, _attempt, state in cluster.guests()]
    assert states.count("running") == 1
    assert cluster.instance.status in ("ACTIVE", "VERIFY_RESIZE")
    assert cluster.instance.step == SagaStep.DONE


@pytest.mark.parametrize(("step", "host"), [(SagaStep.STOP_SOURCE, "h1"), (SagaStep.STOP_DESTINATION, "h2")])
def test_late_message_of_the_revert_stops_nothing(cluster: MovingInstance, step: SagaStep, host: str) -> None:
    cluster.end_move("revert", 0)
    cluster.run_to_step(step)
    cluster.work()
    messages = [message for message in cluster.hosts.queue if message[0] == host]
    assert messages
    cluster.settle(DAY_MS)
    cluster.check_rests_on(*SOURCE)
    cluster.arrive(messages)
    cluster.check_rests_on(*SOURCE)
