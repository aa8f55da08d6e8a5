# SPDX-License-Identifier: Apache-2.0
"""The simulation of moves, with faults within sagas, sees that a rule which makes them safe is missing."""

import pytest

from scheduler_svc.store.verbs.partition import PartitionState
from tests.support.simulation import machines
from tests.support.simulation.moves_machine import MovesMachine
from tests.support.store.backends import memory_partition


@pytest.mark.timeout(900)
def test_namesakes_that_are_believed_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionState, "check_identity", lambda *_arguments: None)
    machine = machines.bind(MovesMachine, make_partition=staticmethod(memory_partition), interrupts=True)
    with pytest.raises(AssertionError):
        machines.explore(machine, machines.PLANTED_SEED, examples=200, steps=60, shortens=False)
