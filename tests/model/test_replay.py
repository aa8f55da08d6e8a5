# SPDX-License-Identifier: Apache-2.0
"""Random traces of the model, replayed on the code: it cannot drift from what it describes."""

import pytest

from tests.model import rules
from tests.model.plans import FAULTS, OPERATIONS, with_faults
from tests.model.replay import Replay
from tests.model.requests import Plan

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
    faults = FAULTS_OF_TRACES[seed // len(OPERATIONS) % len(FAULTS_OF_TRACES)]
    return with_faults(OPERATIONS[seed % len(OPERATIONS)], *(FAULTS[fault] for fault in faults))


def replay_all(traces: int) -> tuple[int, int]:
    """Replay that many traces on the real store; return the number of actions and of calls."""
    replays = [Replay(plan_of(seed), seed) for seed in range(traces)]
    for replay in replays:
        replay.run()
    return sum(len(replay.labels) for replay in replays), sum(replay.calls for replay in replays)


@pytest.mark.timeout(300)
def test_store() -> None:
    actions, calls = replay_all(500)
    assert actions > 5000
    assert calls > 5000


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_store_at_length() -> None:
    replay_all(20_000)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "rule",
    [
        "a move ends once no destination has a claim",
        "an audit aborts unconfirmed claims",
        "an unknown claim gets a tombstone",
        "audits restore roles",
        "no claim is confirmed before the audit",
    ],
)
def test_a_drift_of_the_model_is_seen(rule: str) -> None:
    with rules.leave_out(rule), pytest.raises(AssertionError):
        replay_all(1500)
