# SPDX-License-Identifier: Apache-2.0
"""Daemons that take turns on the same servers, one executor after the other, and latency under a random load."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import ECHO, Blocks, CallStatistics

EXECUTOR_BUDGET = 0.9  # share of the first executor's rate
METRICS_BUDGET = 1.03  # processor time with metrics, relative to that without

PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}


# Blocks of one executor's daemons, for each time that they run.
Turns = Sequence[Blocks]


def take(executors: Sequence[str], count: int, run: Callable[[str], Blocks]) -> dict[str, list[Blocks]]:
    """Run each executor ``count`` times, in an order that reverses after each round."""
    turns: dict[str, list[Blocks]] = {executor: [] for executor in executors}
    for number in range(count):
        for executor in executors if number % 2 else executors[::-1]:
            turns[executor].append(run(executor))
    return turns


def statistics(turns: Turns) -> dict[int, CallStatistics]:
    """Return an executor's statistics over all its turns, without warm-ups, by batch size."""
    return {size: CallStatistics([block for blocks in turns for block in blocks[size][1:]]) for size in turns[0]}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ratios of call rate and CPU time to another executor, for each pair of turns.

    ``costs`` lacks turns shorter than a tick of the CPU clock.
    """

    rates: Sequence[float]
    costs: Sequence[float]

    def row(self, name: str, has_budget: bool) -> ResultRow:
        """Return the medians over the pairs, and the extremes of the rates."""
        figures: dict[str, float | int | str] = {
            "turns": len(self.rates),
            "least_ratio": min(self.rates),
            "greatest_ratio": max(self.rates),
            "processor_ratio": median(self.costs) if self.costs else "-",
        }
        return ResultRow(name, median(self.rates), EXECUTOR_BUDGET if has_budget else None, "at least", figures)

    def cost_row(self, name: str, has_budget: bool) -> ResultRow:
        """Return the medians, with that of CPU time as ratio."""
        figures: dict[str, float | int | str] = {"turns": len(self.costs), "rate_ratio": median(self.rates)}
        ratio = median(self.costs) if self.costs else float("nan")
        return ResultRow(name, ratio, METRICS_BUDGET if has_budget else None, figures=figures)


def compare(own: Turns, base: Turns, size: int) -> Comparison:
    pairs = [
        (CallStatistics(first[size][1:]), CallStatistics(second[size][1:]))
        for first, second in zip(own, base, strict=True)
    ]
    return Comparison(
        [first.per_second / second.per_second for first, second in pairs],
        [first.processor_ms / second.processor_ms for first, second in pairs if second.processor_ms],
    )


@dataclass(frozen=True, slots=True)
class RandomLoad:
    """Blocks of echo calls and single selections that arrive at random, at a percentage of the saturated rate.

    A client that waits for each answer omits the calls that a stall would have delayed: calls are timed from their
    arrival in a Poisson process.
    """

    percent: int
    per_second: float
    blocks: Blocks

    def row(self, name: str) -> ResultRow:
        """Return the latency of selections, with equally frequent echo calls as its floor."""
        measured = statistics([self.blocks])
        echo, select = measured[ECHO], measured[1]
        figures = {
            "arrivals_per_s": self.per_second,
            "calls": sum(block.calls for block in select.blocks),
            **{key: select.percentile_ms(percent) for key, percent in PERCENTILES.items()},
            **{f"echo_{key}": echo.percentile_ms(percent) for key, percent in PERCENTILES.items()},
        }
        ratio = select.percentile_ms(99) / echo.percentile_ms(99)
        return ResultRow(f"p99 of a select at {self.percent} % of its saturated rate, {name}", ratio, figures=figures)
