# SPDX-License-Identifier: Apache-2.0
"""Regression: an instance ran twice after the conductors' store forgot the begin of its move.

The saga took the claim of the destination for the instance's only one and built there. The guest ran on at its source
under the claim of a migration that no record named. A delete ended one of them, and ``gantt audit --fix`` the original.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.reconciliation.leaked_migrations import end
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from tests.regressions.moves import DAY_MS, HOUR_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import CTXT

STEPS = {"migrate": SagaStep.STOP_SOURCE, "live-migrate": SagaStep.COPY}
DESTINATIONS = {
    "migrate": [("h1", 1, "running")],
    "live-migrate": [("h1", 1, "running"), ("h2", 2, "paused")],
}


@pytest.fixture(params=BACKENDS[:2])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, open_partition(request, tmp_path))


@pytest.mark.parametrize("kind", STEPS)
def test_instance_runs_at_its_source_until_it_is_deleted(cluster: MovingInstance, kind: str) -> None:
    cluster.mark_records()
    cluster.request(kind)
    cluster.run_to_step(STEPS[kind])
    assert cluster.guests() == DESTINATIONS[kind]
    # When the conductor dies with what was under way, and its store forgets the move
    cluster.hosts.queue.clear()
    cluster.forget_records()
    assert (cluster.instance.status, cluster.instance.attempt) == ("ACTIVE", 1)
    cluster.settle(MINUTE_MS)
    cluster.compare()
    cluster.settle(HOUR_MS)
    # Then the guest runs where it ran
    cluster.check_rests_on("h1", 1)
    cluster.repair()
    cluster.settle(DAY_MS)
    cluster.check_rests_on("h1", 1)
    cluster.check_deletes()


@pytest.mark.parametrize("kind", STEPS)
def test_source_is_no_leaked_migration(cluster: MovingInstance, kind: str) -> None:
    cluster.mark_records()
    cluster.request(kind)
    cluster.run_to_step(STEPS[kind])
    cluster.hosts.queue.clear()
    cluster.forget_records()
    # When an operator wants the source ended, before the comparison and after it
    end_source_in_vain(cluster, "its record names the guest on h1/n")
    assert cluster.guests() == DESTINATIONS[kind]
    cluster.settle(MINUTE_MS)
    cluster.compare_often()
    end_source_in_vain(cluster, "its role only")
    # Then the guest runs where it ran
    cluster.repair()
    cluster.check_rests_on("h1", 1)


def end_source_in_vain(cluster: MovingInstance, why: str) -> None:
    """Assert that the source is not ended, although an operator consents to the end of a guest that runs."""
    source = objects.ClaimRefs.of(consumers=[cluster.uuid], attempts=[1])
    with pytest.raises(errors.InstanceConflict, match=why):
        end(make_conductor(cluster.store, cluster.clients()), CTXT, PARTITION, "h1", source, ends_running=True)
    assert not cluster.hosts.queue
