# SPDX-License-Identifier: Apache-2.0
"""Daemons that take turns on the same servers, one executor after the other, and their comparison."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import Blocks, CallStatistics

EXECUTOR_BUDGET = 0.9  # share of the first executor's rate
METRICS_BUDGET = 1.03  # processor time with metrics, relative to that without


@dataclass(frozen=True, slots=True)
class Turn:
    """The blocks of one executor's daemons between their start and their stop."""

    executor: str
    blocks: Blocks

    def statistics(self, size: int) -> CallStatistics:
        """Return the statistics of calls of ``size`` instances without the warm-up."""
        return CallStatistics(self.blocks[size][1:])


def order(executors: Sequence[str], turns: int) -> Iterator[str]:
    """Return whose turn it is: each executor ``turns`` times, in an order that reverses after each round."""
    for turn in range(turns):
        yield from executors if turn % 2 else executors[::-1]


def take(executors: Sequence[str], turns: int, run: Callable[[str], Blocks]) -> list[Turn]:
    """Call ``run`` with each executor in turn; return the turns."""
    return [Turn(executor, run(executor)) for executor in order(executors, turns)]


def statistics(turns: Sequence[Turn], executor: str) -> dict[int, CallStatistics]:
    """Return the statistics of one executor over all its turns, by batch size."""
    own_turns = [turn for turn in turns if turn.executor == executor]
    return {
        size: CallStatistics([block for turn in own_turns for block in turn.statistics(size).blocks])
        for size in own_turns[0].blocks
    }


@dataclass(frozen=True, slots=True)
class Comparison:
    """An executor relative to another one, for each pair of turns: call rates, and CPU time per call.

    ``costs`` lacks the pairs of turns so short that the clock of CPU time, whose tick is 10 ms, has not moved.
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
        """Return the median of the ratios of processor time, and that of the rates."""
        figures: dict[str, float | int | str] = {"turns": len(self.costs), "rate_ratio": median(self.rates)}
        ratio = median(self.costs) if self.costs else float("nan")
        return ResultRow(name, ratio, METRICS_BUDGET if has_budget else None, figures=figures)


def compare(turns: Sequence[Turn], executor: str, base: str, size: int) -> Comparison:
    """Compare calls of ``size`` instances with ``executor`` and with ``base``."""
    own = [turn.statistics(size) for turn in turns if turn.executor == executor]
    other = [turn.statistics(size) for turn in turns if turn.executor == base]
    pairs = list(zip(own, other, strict=True))
    return Comparison(
        [first.per_second / second.per_second for first, second in pairs],
        [first.processor_ms / second.processor_ms for first, second in pairs if second.processor_ms],
    )
