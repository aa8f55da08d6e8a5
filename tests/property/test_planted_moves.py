# SPDX-License-Identifier: Apache-2.0
"""The simulation of moves without a rule that makes them safe: a fault that strikes within sagas shows its absence."""

from collections.abc import Callable

import pytest

from rpcapi.resources.claims import Answer, ClaimRole
from scheduler_svc.core.records import Claim
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.verbs import audit
from scheduler_svc.store.verbs.partition import PartitionState
from tests.property import machines
from tests.property.test_moves_machine import MovesMachine
from tests.unit.scheduler_svc.store.backends import memory_partition


def end_moved_claims(patch: pytest.MonkeyPatch) -> None:
    """Answer a source whose host has not heard of the move as if the move had ended its claim."""
    reconcile = audit._reconcile_live

    def reconcile_unless_moved(
        partition: PartitionState, live: Claim, claim: RunningClaim, now: int
    ) -> tuple[Answer, bool]:
        if live.role is ClaimRole.SOURCE and claim.role is ClaimRole.ONLY:
            return Answer.ENDED, False
        return reconcile(partition, live, claim, now)

    patch.setattr(audit, "_reconcile_live", reconcile_unless_moved)


def believe_namesakes(patch: pytest.MonkeyPatch) -> None:
    """Let any agent act under the name of a host."""
    patch.setattr(PartitionState, "check_identity", lambda *_arguments: None)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("plant", [end_moved_claims, believe_namesakes])
def test_absence_is_seen(monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    plant(monkeypatch)
    machine = machines.bind(MovesMachine, make_partition=staticmethod(memory_partition), interrupts=True)
    with pytest.raises(AssertionError):
        machines.explore(machine, machines.PLANTED_SEED, examples=200, steps=60, shortens=False)
