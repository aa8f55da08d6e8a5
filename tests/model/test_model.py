# SPDX-License-Identifier: Apache-2.0
"""All states within the bounds: a migration of each kind or two in turn, and one fault."""

from pathlib import Path

import pytest

from tests.model.explore import Exploration, explore
from tests.model.plans import ACROSS_TWICE, FAULTS, FENCES, OPERATIONS, PLANS, forgetting_all, with_faults
from tests.model.replay_cluster import ClusterReplay
from tests.model.requests import Plan

LONG = {  # in the long form only
    ("deleted migration", "loss"),
    ("deleted migration, an alternate", "loss"),
    ("resize, an alternate", "loss"),
    ("reverted migration, an outage", "loss"),
    ("deleted migration across partitions", "loss"),
    ("reverted migration across partitions, an outage", "loss"),
}
ALL_AT_ONCE = (  # the others in the long form only
    *("delete", "confirmed migration", "reverted migration", "evacuation"),
    *("confirmed migration across partitions", "reverted migration across partitions"),
)
TWO_MIGRATIONS = (  # the first three in the default run
    *("two confirmed migrations", "a confirmed and a reverted migration", "a reverted and a confirmed migration"),
    *("two reverted migrations", "two live migrations"),
)
TWICE = (
    *("boot", "delete", "confirmed migration", "reverted migration", "resize on the same host", "live migration"),
    *("forced live migration", "post-copy", "evacuation", "confirmed migration across partitions"),
)
CASES = [
    (plan.name, fault)
    for plan in OPERATIONS
    for fault in FAULTS
    if (plan.name, fault) not in LONG and plan.name not in TWO_MIGRATIONS
]


@pytest.mark.sampled
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("operation", "fault"), CASES)
def test_one_fault(operation: str, fault: str, tmp_path: Path) -> None:
    check(operation, fault, tmp_path)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("operation", ALL_AT_ONCE)
def test_loss_of_all_stores(operation: str, tmp_path: Path) -> None:
    check_loss_of_all_stores(operation, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "operation", [name for name in PLANS if name not in (*ALL_AT_ONCE, TWO_MIGRATIONS[-1], ACROSS_TWICE.name)]
)
def test_loss_of_all_stores_at_length(operation: str, tmp_path: Path) -> None:
    check_loss_of_all_stores(operation, tmp_path)


@pytest.mark.sampled
@pytest.mark.timeout(900)
@pytest.mark.parametrize("operation", TWO_MIGRATIONS[:3])
@pytest.mark.parametrize("store", ["store", "record"])
def test_loss_in_the_second_of_two_migrations(operation: str, store: str, tmp_path: Path) -> None:
    check_one_store(operation, store, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("operation", [*TWO_MIGRATIONS[3:], ACROSS_TWICE.name])
@pytest.mark.parametrize("store", ["store", "record"])
def test_loss_in_the_second_of_two_migrations_at_length(operation: str, store: str, tmp_path: Path) -> None:
    check_one_store(operation, store, tmp_path)


@pytest.mark.parametrize("plan", FENCES, ids=lambda plan: plan.name)
def test_fence_during_a_move(plan: Plan, tmp_path: Path) -> None:
    keep_promises(plan, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plan", FENCES, ids=lambda plan: plan.name)
def test_fence_and_loss_during_a_move(plan: Plan, tmp_path: Path) -> None:
    keep_promises(with_faults(plan, FAULTS["loss"]), tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("operation", "fault"), sorted(LONG))
def test_one_fault_at_length(operation: str, fault: str, tmp_path: Path) -> None:
    check(operation, fault, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("operation", TWICE)
@pytest.mark.parametrize("second", ["loss", "late message"])
def test_loss_and_another_fault(operation: str, second: str, tmp_path: Path) -> None:
    keep_promises(with_faults(PLANS[operation], FAULTS["loss"], FAULTS[second]), tmp_path)


def check(operation: str, fault: str, folder: Path) -> None:
    keep_promises(with_faults(PLANS[operation], FAULTS[fault]), folder)


def check_one_store(operation: str, store: str, folder: Path) -> None:
    keep_promises(with_faults(PLANS[operation], FAULTS["loss"])._replace(stores=store), folder)


def check_loss_of_all_stores(operation: str, folder: Path) -> None:
    keep_promises(forgetting_all(PLANS[operation]), folder)


def keep_promises(plan: Plan, folder: Path) -> None:
    """Assert that no promise is broken; real sagas, agents and verbs follow a trace that breaks one."""
    result = explore(plan)
    assert result.is_complete
    follow(plan, result, folder)
    assert result.traces == {}, describe(result)


def follow(plan: Plan, result: Exploration, folder: Path) -> None:
    """Let real sagas, agents and verbs follow the traces to broken promises."""
    for promise, trace in result.traces.items():
        state = folder / promise.replace(" ", "-")
        state.mkdir()
        ClusterReplay(plan, 0, state).follow(trace)


def describe(result: Exploration) -> str:
    """Return the shortest trace to each broken promise."""
    return "\n".join("\n  ".join((promise, *trace)) for promise, trace in result.traces.items())
