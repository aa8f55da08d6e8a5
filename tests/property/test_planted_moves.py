# SPDX-License-Identifier: Apache-2.0
"""The simulation of moves, with faults within sagas, sees that a rule which makes them safe is missing."""

from pathlib import Path

import pytest

from tests.support import CHECKOUT
from tests.support.simulation import machines
from tests.support.simulation.across_machine import AcrossMachine
from tests.support.simulation.moves_machine import MovesMachine
from tests.support.simulation.plants import PLANTS, Plant
from tests.support.store.backends import memory_partition

DOCS = CHECKOUT / "docs"
STEPS = 60  # of an example, at most
ROUND = 100  # examples of a seed; the seeds are always the same
ROUNDS = {"sampled": 8, "long": 30}  # at most


def parameters() -> list[object]:
    return [
        pytest.param(plant, id=name, marks=pytest.mark.long if plant.is_rare else pytest.mark.sampled)
        for name, plant in PLANTS.items()
    ]


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_rule_is_documented(plant: Plant) -> None:
    page = Path(DOCS, plant.page).read_text(encoding="utf-8")
    assert plant.sentence in " ".join(page.split())


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("plant", parameters())
def test_missing_rule_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant.take_out(monkeypatch)
    cluster_machine = AcrossMachine if plant.is_across else MovesMachine
    machine = machines.bind(cluster_machine, make_partition=staticmethod(memory_partition), interrupts=True)
    with pytest.raises(AssertionError, match=plant.broken):
        for number in range(ROUNDS["long" if plant.is_rare else "sampled"]):
            machines.explore(machine, machines.PLANTED_SEED + number, ROUND, STEPS, shortens=False)
