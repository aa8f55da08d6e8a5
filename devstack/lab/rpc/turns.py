# SPDX-License-Identifier: Apache-2.0
"""Daemons that take turns on the same servers, one executor after the other, and latency under a random load."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import ECHO, Blocks, CallStatistics

EXECUTOR_BUDGET = 0.9  # share of the first executor's rate
METRICS_BUDGET = 1.03  # processor time with metrics, relative to that without

PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}


@dataclass(frozen=True, slots=True)
class Turn:
    """Blocks of one executor's daemons between their start and stop."""

    executor: str
    blocks: Blocks

    def statistics(self, size: int) -> CallStatistics:
        """Return the statistics of calls of ``size`` instances without the warm-up."""
        return CallStatistics(self.blocks[size][1:])


def order(executors: Sequence[str], turns: int) -> Iterator[str]:
    """Yield each executor ``turns`` times, in an order that reverses after each round."""
    for turn in range(turns):
        yield from executors if turn % 2 else executors[::-1]


def take(executors: Sequence[str], turns: int, run: Callable[[str], Blocks]) -> list[Turn]:
    return [Turn(executor, run(executor)) for executor in order(executors, turns)]


def statistics(turns: Sequence[Turn], executor: str) -> dict[int, CallStatistics]:
    """Return an executor's statistics over all its turns, by batch size."""
    own_turns = [turn for turn in turns if turn.executor == executor]
    return {
        size: CallStatistics([block for turn in own_turns for block in turn.statistics(size).blocks])
        for size in own_turns[0].blocks
    }


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


def compare(turns: Sequence[Turn], executor: str, base: str, size: int) -> Comparison:
    own = [turn.statistics(size) for turn in turns if turn.executor == executor]
    other = [turn.statistics(size) for turn in turns if turn.executor == base]
    pairs = list(zip(own, other, strict=True))
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
        echo, select = (CallStatistics(self.blocks[size][1:]) for size in (ECHO, 1))
        figures = {
            "arrivals_per_s": self.per_second,
            "calls": sum(block.calls for block in select.blocks),
            **{key: select.percentile_ms(percent) for key, percent in PERCENTILES.items()},
            **{f"echo_{key}": echo.percentile_ms(percent) for key, percent in PERCENTILES.items()},
        }
        ratio = select.percentile_ms(99) / echo.percentile_ms(99)
        return ResultRow(f"p99 of a select at {self.percent} % of its saturated rate, {name}", ratio, figures=figures)
