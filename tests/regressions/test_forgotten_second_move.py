# SPDX-License-Identifier: Apache-2.0
"""Regression: a record from the end of one move, restored during the next, started the guest at its source again.

The destination of the next move ran it too. The host at the source ignores messages below those that it has followed,
and the conductor took its report for a lost message of the first move: it asked again with a higher number.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.store.records import SagaStep
from tests.regressions.moves import DAY_MS, MINUTE_MS, MovingInstance, open_cluster
from tests.support.store.backends import memory_partition

# How the first move ends, and a step of it: before that end is requested, or after.
STARTED = (SagaStep.STOP_SOURCE, SagaStep.CAST, SagaStep.WAIT)
FORWARD = [(end, step) for end in ("revert", "confirm") for step in STARTED]
BACK = [("revert", step) for step in (SagaStep.STOP_SOURCE, SagaStep.STOP_DESTINATION, SagaStep.RESUME)]
ENDS = [*BACK, ("revert", SagaStep.TERMINATE), ("revert", SagaStep.END_MOVE), ("confirm", SagaStep.END_SOURCE)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    yield from open_cluster(tmp_path, memory_partition())


@pytest.mark.parametrize("kind", ["migrate", "live-migrate"])
@pytest.mark.parametrize("is_audited", [True, False], ids=["audited", "not audited"])
@pytest.mark.parametrize(("end", "step"), FORWARD)
def test_record_from_before_the_end_was_requested(
    cluster: MovingInstance, end: str, step: SagaStep, is_audited: bool, kind: str
) -> None:
    cluster.request("migrate", "h2")
    cluster.run_to_step(step)
    cluster.mark_records()
    cluster.settle(MINUTE_MS)
    cluster.end_move(end, 0)
    cluster.settle(MINUTE_MS)
    check_next_move(cluster, kind, is_audited=is_audited)


@pytest.mark.parametrize("kind", ["migrate", "live-migrate"])
@pytest.mark.parametrize("is_audited", [True, False], ids=["audited", "not audited"])
@pytest.mark.parametrize(("end", "step"), ENDS)
def test_record_from_the_end(cluster: MovingInstance, end: str, step: SagaStep, is_audited: bool, kind: str) -> None:
    cluster.request("migrate", "h2")
    cluster.settle(MINUTE_MS)
    cluster.end_move(end, 0)
    cluster.run_to_step(step)
    cluster.mark_records()
    cluster.settle(MINUTE_MS)
    check_next_move(cluster, kind, is_audited=is_audited)


def check_next_move(cluster: MovingInstance, kind: str, *, is_audited: bool) -> None:
    """Move the instance to h3, restore the records, and assert that the guest runs there once, as its record says."""
    cluster.request(kind, "h3")
    cluster.settle(MINUTE_MS)
    assert cluster.hosts.running_hosts({cluster.uuid}) == {"h3"}
    cluster.forget_records()
    if is_audited:
        cluster.audit_all()
    cluster.settle(DAY_MS)
    cluster.repair()
    cluster.check_always()
    assert cluster.hosts.running_hosts({cluster.uuid}) == {"h3"}, cluster.instance
    assert cluster.instance.host == "h3/n" and cluster.instance.status in ("VERIFY_RESIZE", "ACTIVE"), cluster.instance
