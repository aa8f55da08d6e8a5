# SPDX-License-Identifier: Apache-2.0
"""Regression: a late build message during a move was answered with the loss of the instance, which ran.

A conductor died after the claim became the source of a migration, before it recorded that, and the source's agent was
restarted. No store had forgotten anything. The instance got ERROR, could be evacuated, and ran twice.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from rpcapi.resources.claims import ClaimRole
from tests.regressions.moves import HOUR_MS, MovingInstance, open_cluster
from tests.support.conductor.simulated_cluster import Crash
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MovingInstance]:
    """An instance whose move was begun and not recorded, and whose build message has arrived again."""
    for cluster in open_cluster(tmp_path, memory_partition()):
        build = next(message for message in cluster.hosts.sent if message[0] == "h1")
        cluster.request("migrate")
        begin_move_and_die(cluster, monkeypatch)
        cluster.hosts.start("h1")
        cluster.arrive([build])
        cluster.settle(HOUR_MS)
        cluster.repair()
        yield cluster


def begin_move_and_die(cluster: MovingInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the conductor die between the answer of ``begin_moves`` and its record."""
    begin_moves = cluster.claims.begin_moves

    def begin_and_die(*arguments: object) -> None:
        begin_moves(*arguments)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(cluster.claims, "begin_moves", begin_and_die)
        cluster.add_conductor()  # the one that dies
        cluster.work()
    (claim,) = cluster.ledger.store.claims()[0]
    assert (claim.role, cluster.instance.step) == (ClaimRole.SOURCE, SagaStep.BEGIN_MOVE)


def test_instance_moves_and_runs_once(cluster: MovingInstance) -> None:
    cluster.check_waits_for_confirm(("h1", 1), ("h2", 2))
    # When its owner wants it evacuated, then that is refused: its host is up
    cluster.request("evacuate")
    cluster.settle(HOUR_MS)
    cluster.check_waits_for_confirm(("h1", 1), ("h2", 2))
    cluster.end_move("confirm", 0)
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h2", 2)


def test_delete_ends_both_ends(cluster: MovingInstance) -> None:
    cluster.check_deletes()
