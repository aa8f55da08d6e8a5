# SPDX-License-Identifier: Apache-2.0
"""Latency of single selections that arrive at random, at shares of the rate at which the workers are saturated.

A client that waits for each answer sends nothing while the workers stall, so that its figures omit the calls which the
stall would have delayed. Here calls arrive by a Poisson process, whether or not earlier ones were answered, and each is
timed from its arrival.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import CallBlock, Callers, CallStatistics
from devstack.lab.rpc.client_calls import ECHO
from devstack.lab.timing import interleave

PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}


@dataclass(frozen=True, slots=True)
class LoadBlocks:
    """The blocks of echo calls and of selections at one load, in percent of the saturated rate, with their warm-up."""

    percent: int
    per_second: float
    echo: list[CallBlock]
    select: list[CallBlock]

    def row(self, name: str) -> ResultRow:
        """Return the latency of selections beside that of echo calls which arrive as often."""
        select, echo = CallStatistics(self.select[1:]), CallStatistics(self.echo[1:])
        figures = {
            "arrivals_per_s": self.per_second,
            "calls": sum(block.calls for block in select.blocks),
            **{key: select.percentile_ms(percent) for key, percent in PERCENTILES.items()},
            **{f"echo_{key}": echo.percentile_ms(percent) for key, percent in PERCENTILES.items()},
        }
        ratio = select.percentile_ms(99) / echo.percentile_ms(99)
        return ResultRow(f"p99 of a select at {self.percent} % of its saturated rate, {name}", ratio, figures=figures)


def arrival_rates(saturated: float, percents: Sequence[int]) -> dict[int, float]:
    """Return the calls per second of all clients together by load, at 100 % ``saturated``."""
    return {percent: saturated * percent / 100 for percent in percents}


def measure(
    callers: Callers, rates: Mapping[int, float], seconds: float, blocks: int, tick: Callable[[], Any]
) -> list[LoadBlocks]:
    """Return the blocks of each load, of ``seconds`` each; those of selections and of echo calls alternate."""
    measured = []
    for percent, rate in rates.items():
        load = LoadBlocks(percent, rate, [], [])

        def call(size: int, load: LoadBlocks = load) -> Callable[[int], None]:
            calls = load.echo if size == ECHO else load.select
            return lambda number: calls.append(callers.call_for(size, seconds, load.per_second))

        interleave({"echo": call(ECHO), "select": call(1)}, blocks=blocks, size=1, tick=tick)
        measured.append(load)
    return measured
