# SPDX-License-Identifier: Apache-2.0
"""Random traces of the model, replayed on the code: it cannot drift from what it describes."""

from pathlib import Path

import pytest

from tests.model import rules
from tests.model.plans import FAULTS, FENCES, OPERATIONS, with_faults
from tests.model.replay import Replay
from tests.model.replay_cluster import ClusterReplay
from tests.model.requests import Plan

REPLAYED = (*OPERATIONS, *FENCES)
FAULTS_OF_TRACES = (
    (),
    ("loss",),
    ("loss", "late message"),
    ("loss", "crash", "failure"),
    ("late message", "crash", "failure"),
    tuple(FAULTS),
    ("loss", "loss"),
)


def plan_of(seed: int) -> Plan:
    """Return the plan of a trace: each operation with each combination of faults in turn."""
    faults = FAULTS_OF_TRACES[seed // len(REPLAYED) % len(FAULTS_OF_TRACES)]
    plan = with_faults(REPLAYED[seed % len(REPLAYED)], *(FAULTS[fault] for fault in faults))
    return plan._replace(stores="store record all")


def replay_on_store(traces: int) -> tuple[int, int]:
    """Replay that many traces on the real verbs; return the number of actions and of calls."""
    replays = [Replay(plan_of(seed), seed) for seed in range(traces)]
    for replay in replays:
        replay.run()
    return sum(len(replay.labels) for replay in replays), sum(replay.calls for replay in replays)


def replay_on_cluster(traces: range, folder: Path) -> int:
    """Replay traces on real sagas, agents and verbs; return the number of actions."""
    actions = 0
    for seed in traces:
        state = folder / str(seed)
        state.mkdir()
        replay = ClusterReplay(plan_of(seed), seed, state)
        replay.run()
        actions += len(replay.labels)
    return actions


@pytest.mark.timeout(300)
def test_verbs() -> None:
    actions, calls = replay_on_store(300)
    assert actions > 3000
    assert calls > 3000


@pytest.mark.timeout(300)
def test_cluster(tmp_path: Path) -> None:
    assert replay_on_cluster(range(154), tmp_path) > 1000


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_verbs_at_length() -> None:
    replay_on_store(20_000)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_cluster_at_length(tmp_path: Path) -> None:
    replay_on_cluster(range(2500), tmp_path)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rule", ["no claim is confirmed before the audit", "an unknown claim gets a tombstone"])
def test_a_drift_of_the_model_is_seen(rule: str) -> None:
    with rules.leave_out(rule), pytest.raises(AssertionError):
        replay_on_store(1000)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_drift_of_its_agents_is_seen(tmp_path: Path) -> None:
    with rules.leave_out("agents ignore late messages about moves"), pytest.raises(AssertionError):
        replay_on_cluster(range(2000), tmp_path)
