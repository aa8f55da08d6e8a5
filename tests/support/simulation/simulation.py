# SPDX-License-Identifier: Apache-2.0
"""State machines on each kind of store, explored in rounds for `lab.sh simulate`."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from devstack.servers.redis import RedisServer
from tests.support.simulation import corpus, machines
from tests.support.simulation.across_machine import AcrossMachine
from tests.support.simulation.claims_machine import ClaimsMachine
from tests.support.simulation.machines import RecordedMachine, bind
from tests.support.simulation.moves_machine import MovesMachine
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition

STEPS = 60  # of an example, at most
ROUND = {"memory": 50, "redis": 20, "sqlite": 5}  # examples, so that a round takes half a minute at most

MakePartition = Callable[[], StorePartition]


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """A failing example, shortened: the failure, the steps as Python, and how to repeat it."""

    failure: str
    example: str
    notes: str


class Simulation:
    """One machine on one store: rounds of examples, each of a seed of its own. The first repeats the kept examples."""

    def __init__(self, name: str, machine: type[RecordedMachine], store: str) -> None:
        self.name = name
        self._machine = machine
        self._examples = ROUND[store]
        self._rounds = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """The examples and steps so far."""
        return self._machine.counts

    @property
    def hits(self) -> Mapping[tuple[str, str], int]:
        """How often a fault struck while an instance was in a saga step, by fault and step."""
        return self._machine.hits

    def run_round(self, seed: int) -> BrokenPromise | None:
        """Run the next round of examples; return the first that fails."""
        number = random.Random(f"{seed}/{self.name}/{self._rounds}").getrandbits(32)
        self._rounds += 1
        try:
            if self._rounds == 1:
                machines.replay_kept(self._machine)
            machines.explore(self._machine, number, self._examples, STEPS)
        except Exception as failure:
            notes = "\n".join(getattr(failure, "__notes__", ()))
            example = corpus.as_text(self._machine, self._machine.last_steps)
            return BrokenPromise(f"{type(failure).__name__}: {failure}", example, notes.rpartition("\n")[2])
        return None


def hits_by_fault(simulations: Iterable[Simulation]) -> dict[str, dict[str, int]]:
    """Return the hits of all simulations, by fault and saga step; empty before the first example with faults."""
    total: Counter[tuple[str, str]] = Counter()
    for simulation in simulations:
        total.update(simulation.hits)
    table: dict[str, dict[str, int]] = {}
    for (fault, step), count in total.items():
        table.setdefault(str(fault), {})[str(step)] = count
    return table


def make_simulations(store: str, folder: Path, redis_server: RedisServer | None) -> list[Simulation]:
    """Return a simulation by each machine on a store; SQLite's database is in ``folder``."""
    makers: dict[str, MakePartition] = {
        "memory": memory_partition,
        "redis": lambda: redis_partition(_require(redis_server)),
        "sqlite": lambda: sql_partition(f"sqlite:///{folder / 'store.sqlite'}"),
    }
    make = makers[store]
    # The answers of another store are compared with those of the one in memory.
    compared = [memory_partition] if store == "memory" else [memory_partition, make]
    bound = {
        "claims": bind(ClaimsMachine, make_partitions=staticmethod(lambda: [make_one() for make_one in compared])),
        "moves": bind(MovesMachine, make_partition=staticmethod(make), interrupts=True),
        "moves across partitions": bind(AcrossMachine, make_partition=staticmethod(make), interrupts=True),
    }
    return [Simulation(f"{name}, {store}", machine, store) for name, machine in bound.items()]


def _require(server: RedisServer | None) -> RedisServer:
    assert server is not None
    return server
