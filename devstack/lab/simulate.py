# SPDX-License-Identifier: Apache-2.0
"""lab.sh simulate: random examples of the tests' state machines on the real services."""

import argparse
import contextlib
import gc
import importlib
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from devstack.lab import private_servers
from devstack.lab.benchmark import Benchmark, option, stores_option
from devstack.lab.rows import ResultRow
from devstack.lab.saved_runs import PROJECT
from rpcapi.cli.command import CommandFailed

STORES = ("memory", "redis", "sqlite")
MODULE = "tests.support.simulation.simulation"
SEED_BITS = 32
GARBAGE = 50_000  # new objects between two collections
ENOUGH_HITS = 20  # hits of one fault on one saga step


class SimulateRun(Benchmark):
    """Run the state machines of the tests on random examples, and report each promise that they break.

    Sagas, agents, journals and stores are real, in one thread; messages, time, crashes and losses come in random order.
    The machines need a checkout with dependency group test. A broken promise is printed with a minimal example, which
    is also kept in tests/property/corpus; then its machine stops on that store. A row per fault counts by saga step how
    often the fault struck. Exits with 1 if a promise was broken.
    """

    BUDGET_EXIT = 1
    ARGUMENTS = (
        option("--minutes", "Begin no round of examples after so many minutes", default=10),
        option("--seed", "Seed of all examples (a random one)", int),
        stores_option(STORES),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        module = _load()
        # Modules live as long as the run, and examples leave little garbage; collections took a tenth of the time.
        gc.freeze()
        gc.set_threshold(GARBAGE)
        seed = random.SystemRandom().getrandbits(SEED_BITS) if args.seed is None else args.seed
        self.say(f"seed {seed}: repeat with --seed {seed}")
        with contextlib.ExitStack() as cleanup:
            folder = cleanup.enter_context(private_servers.temporary_folder())
            server = None
            if "redis" in args.through:
                server = cleanup.enter_context(private_servers.running_redis("no"))
            simulations = [
                simulation for store in args.through for simulation in module.make_simulations(store, folder, server)
            ]
            broken = self._run(simulations, seed, 60 * args.minutes)
        for simulation in simulations:
            figures = {**{name: simulation.counts[name] for name in ("examples", "steps")}, "seed": seed}
            yield ResultRow(f"broken promises: {simulation.name}", int(simulation.name in broken), 0, figures=figures)
        for fault, hits in module.hits_by_fault(simulations).items():
            rare = sum(count < ENOUGH_HITS for count in hits.values())
            yield ResultRow(f"saga steps with fewer than {ENOUGH_HITS} hits: {fault}", rare, figures=hits)

    def _run(self, simulations: Sequence[Any], seed: int, seconds: float) -> set[str]:
        """Run the simulations alternately; return the names of those that broke a promise and were stopped."""
        broken: set[str] = set()
        end = time.monotonic() + seconds
        rest = list(simulations)
        while rest:
            for simulation in rest:
                promise = simulation.run_round(seed)
                if promise is not None:
                    broken.add(simulation.name)
                    self.say(f"{simulation.name}: {promise.failure}\n{promise.example}\n{promise.notes}")
            rest = [item for item in rest if item.name not in broken] if time.monotonic() < end else []
        return broken


def _load(project: Path = PROJECT) -> Any:
    if not (project / Path(*MODULE.split("."))).with_suffix(".py").exists():
        raise CommandFailed(
            f"The machines are a part of gantt's tests, and {project} has none: use a complete checkout"
        )
    if str(project) not in sys.path:
        sys.path.insert(0, str(project))
    try:
        return importlib.import_module(MODULE)
    except ModuleNotFoundError as missing:
        why = f"The machines need {missing.name}: install the dependency group test, see CONTRIBUTING.md"
        raise CommandFailed(why) from missing
