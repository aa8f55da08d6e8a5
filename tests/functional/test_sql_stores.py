# SPDX-License-Identifier: Apache-2.0
"""A cluster with its claims in a SQL database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize
from tests.support.clusters import clusters, truth
from tests.support.private_servers.postgresql import PostgresqlServer

TINY = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
SHAPE = ClusterSize(computes=1, nodes_per_host=2, schedulers=2)


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.long), "postgresql"])
def store_url(request: pytest.FixtureRequest, run_folder: Path) -> Iterator[str]:
    """URL of the scheduler's store."""
    if request.param == "sqlite":
        yield f"sqlite:///{run_folder / 'store.sqlite'}"
    else:
        server: PostgresqlServer = request.getfixturevalue("postgresql_server")
        yield server.url()


def test_instances_boot_and_leave(store_url: str) -> None:
    overrides = {"scheduler": {"store": {"url": store_url}}}
    with clusters.running_cluster(SHAPE, overrides) as running:
        session = running.session
        booted = exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 5)])
        truth.assert_consistent(running, booted)
        claims = session.call(session.claims.verify)
        assert (claims.claims["confirmed"], list(claims.problems)) == (5, [])
        # Both workers use the same tables, and a restarted daemon continues in the same epoch.
        clusters.restart(running, "scheduler")
        truth.until("it serves again", lambda: session.call(session.claims.verify).epoch == claims.epoch)
        truth.assert_consistent(
            running, [*booted, *exercise.boot(session, [workload.WorkloadRequest("tiny", TINY, 2)])]
        )
