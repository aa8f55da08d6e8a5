# SPDX-License-Identifier: Apache-2.0
"""Regression: a late copy message of an aborted live migration released the claim of the guest that ran.

The agent had forgotten the migration's attempt, was answered that the claim had moved on, and released its successor.
An evacuation started a second copy then.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.simulation.moves_hosts import Message
from tests.support.store.backends import memory_partition

COPY_STEPS = (SagaStep.PREPARE_COPY, SagaStep.COPY)
MANY_PASSES = 100


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, memory_partition())


def copy_messages(cluster: MovingInstance) -> list[Message]:
    """Begin to live-migrate the instance to h2; return the messages to its source, which are under way."""
    cluster.request("live-migrate", "h2")
    cluster.run_to_step(SagaStep.COPY)
    cluster.work()
    messages = [message for message in cluster.hosts.queue if message[0] == "h1"]
    assert messages
    return messages


def check_nothing_changes(cluster: MovingInstance) -> None:
    """Assert that the guest keeps its claim, and that an evacuation of it is refused."""
    cluster.check_rests_on("h1", 1)
    cluster.compare_often()
    cluster.request("evacuate")
    cluster.settle(HOUR_MS)
    cluster.repair()
    cluster.check_rests_on("h1", 1)


def test_repeated_message_of_a_migration_that_the_agent_has_forgotten(cluster: MovingInstance) -> None:
    messages = copy_messages(cluster)
    cluster.hosts.deliver()
    cluster.end_move("abort", 0)
    cluster.settle(2 * MINUTE_MS)
    cluster.check_rests_on("h1", 1)
    # Given that the agent's journal was compacted at a start after its retention
    cluster.now_ms += 2 * HOUR_MS
    cluster.hosts.start("h1")
    cluster.settle(MINUTE_MS)
    # When the message arrives again
    cluster.arrive(messages)
    check_nothing_changes(cluster)


def test_first_message_that_arrives_after_its_migration_has_ended(cluster: MovingInstance) -> None:
    messages = copy_messages(cluster)
    # Given that the destination lost its power before the source heard of the migration
    cluster.hosts.kill("h2")
    cluster.hosts.lose_guests("h2")
    cluster.hosts.start("h2")
    for _ in range(MANY_PASSES):
        if cluster.instance.status == "ACTIVE":
            break
        cluster.work()
        if cluster.instance.step in COPY_STEPS:
            cluster.take_messages("h1")
        cluster.hosts.deliver()
        cluster.settle(0)
        cluster.now_ms += 500
    cluster.settle(MINUTE_MS)
    cluster.check_rests_on("h1", 1)
    # When the first message arrives
    cluster.arrive(messages)
    check_nothing_changes(cluster)
