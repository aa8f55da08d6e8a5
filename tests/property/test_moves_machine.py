# SPDX-License-Identifier: Apache-2.0
"""Moves of all kinds under random interleavings: of requests, deletions, deaths, fences, epochs and late messages."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from conductor.saga import moves, saga
from conductor.saga.steps import StepFunction
from conductor.store.records import InstanceRecord, SagaStep
from devstack.servers.redis import RedisServer
from tests.support.simulation.across_machine import AcrossMachine
from tests.support.simulation.machines import bind, run_machine
from tests.support.simulation.moves_machine import MovesMachine
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition


def explore(
    make_partition: Callable[[], StorePartition],
    examples: int,
    steps: int,
    machine: type[MovesMachine] = MovesMachine,
    **attributes: Any,
) -> None:
    """Run a machine on partitions of claims."""
    run_machine(bind(machine, make_partition=staticmethod(make_partition), **attributes), examples, steps)


@pytest.mark.timeout(900)
def test_memory() -> None:
    explore(memory_partition, 20, 50)


@pytest.mark.timeout(900)
def test_redis(redis_server: RedisServer) -> None:
    explore(lambda: redis_partition(redis_server), 10, 50)


@pytest.mark.timeout(900)
def test_two_partitions_in_memory() -> None:
    explore(memory_partition, 8, 50, AcrossMachine, interrupts=True)


@pytest.mark.timeout(900)
def test_two_partitions_on_redis(redis_server: RedisServer) -> None:
    explore(lambda: redis_partition(redis_server), 3, 30, AcrossMachine)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_memory_at_length() -> None:
    explore(memory_partition, 3000, 80)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_two_partitions_in_memory_at_length() -> None:
    explore(memory_partition, 2000, 60, AcrossMachine, interrupts=True)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_redis_at_length(redis_server: RedisServer) -> None:
    explore(lambda: redis_partition(redis_server), 400, 80)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_sqlite_at_length(run_folder: Path) -> None:
    url = f"sqlite:///{run_folder / 'store.sqlite'}"
    explore(lambda: sql_partition(url), 100, 60)


def move_on(
    instances: Sequence[InstanceRecord], change: Callable[[InstanceRecord], InstanceRecord]
) -> list[InstanceRecord]:
    return [change(instance) for instance in instances]


# Steps of the saga without what makes them safe.
DEFECTS: dict[SagaStep, StepFunction] = {
    # The destination is built while the guest still runs at its source.
    SagaStep.STOP_SOURCE: lambda _context, instances: move_on(instances, moves.build_next),
    # A confirmed move ends, and nobody removes the source.
    SagaStep.END_SOURCE: lambda _context, instances: move_on(
        instances, lambda instance: moves.end_source(instance, "planted")
    ),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", DEFECTS)
def test_planted_defect_is_seen(monkeypatch: pytest.MonkeyPatch, step: SagaStep) -> None:
    planted = [
        row._replace(run=DEFECTS[step], following=" ".join(SagaStep)) if row.name == step else row for row in saga.STEPS
    ]
    monkeypatch.setattr(saga, "STEPS", tuple(planted))
    machine = bind(MovesMachine, make_partition=staticmethod(memory_partition), interrupts=True)
    with pytest.raises(AssertionError):
        run_machine(machine, 100, 50, shortens=False)
