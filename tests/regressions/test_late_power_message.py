# SPDX-License-Identifier: Apache-2.0
"""Regression: a late message about power was followed: a server ran twice at the source of its move, or was off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.simulation.moves_hosts import Message
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, memory_partition())


def start_with_late_message(cluster: MovingInstance) -> list[Message]:
    """Stop and start the instance; return the messages to start it, which arrive again later."""
    cluster.stop([cluster.uuid])
    cluster.settle(MINUTE_MS)
    cluster.check_rests_on("h1", 1, state="off")
    cluster.start([cluster.uuid])
    cluster.work()
    messages = [message for message in cluster.hosts.queue if message[0] == "h1"]
    assert messages
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h1", 1)
    return messages


def test_running_server_is_not_stopped_again(cluster: MovingInstance) -> None:
    cluster.stop([cluster.uuid])
    cluster.work()
    messages = [message for message in cluster.hosts.queue if message[0] == "h1"]
    assert messages
    cluster.settle(MINUTE_MS)
    cluster.start([cluster.uuid])
    cluster.settle(HOUR_MS)
    cluster.arrive(messages)
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h1", 1)


def test_source_of_a_move_stays_off(cluster: MovingInstance) -> None:
    messages = start_with_late_message(cluster)
    cluster.request("migrate", "h2")
    cluster.settle(MINUTE_MS)
    cluster.check_waits_for_confirm(("h1", 1), ("h2", 4))
    cluster.arrive(messages)
    cluster.check_waits_for_confirm(("h1", 1), ("h2", 4))


def test_source_of_a_live_migration_stays_off(cluster: MovingInstance) -> None:
    messages = start_with_late_message(cluster)
    cluster.request("live-migrate", "h2")
    cluster.run_to_step(SagaStep.SWITCH)
    cluster.arrive(messages)
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h2", 4)


def test_host_that_followed_a_forgotten_move_follows_later_messages(cluster: MovingInstance) -> None:
    cluster.mark_records()
    cluster.request("migrate", "h2")
    cluster.settle(MINUTE_MS)
    cluster.end_move("revert", 0)
    cluster.settle(MINUTE_MS)
    cluster.check_rests_on("h1", 1)
    cluster.forget_records()
    cluster.stop([cluster.uuid])
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h1", 1, state="off")
    cluster.start([cluster.uuid])
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h1", 1)
