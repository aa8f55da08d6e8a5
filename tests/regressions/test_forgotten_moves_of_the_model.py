# SPDX-License-Identifier: Apache-2.0
"""Regressions that a model of the protocol found: the conductors' store forgot a move, and the only copy was ended."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.store.records import SagaStep
from rpcapi import errors
from tests.regressions.moves import HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.simulation.moves_cluster import FLAVORS
from tests.support.store.backends import memory_partition


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, memory_partition())


def test_resize_on_one_host_is_forgotten_once_it_has_a_destination(cluster: MovingInstance) -> None:
    cluster.mark_records()
    cluster.request("resize", flavor=FLAVORS["m1.2"])
    cluster.run_to_step(SagaStep.STOP_SOURCE)
    cluster.hosts.queue.clear()
    cluster.forget_records()
    cluster.compare_often()
    cluster.repair()
    cluster.check_rests_on("h1", 1)


def test_end_of_a_live_migration_is_forgotten(cluster: MovingInstance) -> None:
    cluster.request("live-migrate", "h2")
    cluster.run_to_step(SagaStep.PREPARE_COPY)
    cluster.mark_records()
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h2", 2)
    cluster.forget_records()
    cluster.settle(HOUR_MS)
    cluster.repair()
    cluster.check_rests_on("h2", 2)


def test_last_report_of_a_live_migration_is_late(cluster: MovingInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    report_builds = cluster.hosts.report_builds

    def lose_ends(ctxt: Any, report: Any) -> None:
        if report.outcomes == ["gone"]:
            raise errors.Unavailable(what="The conductor", why="no answer")
        report_builds(ctxt, report)

    with monkeypatch.context() as patch:
        patch.setattr(cluster.hosts, "report_builds", lose_ends)
        cluster.request("live-migrate", "h2")
        cluster.settle(10 * MINUTE_MS)
    cluster.settle(HOUR_MS)
    cluster.check_rests_on("h2", 2)
    assert cluster.instance.migration is not None
    assert cluster.instance.migration.status == "completed"
