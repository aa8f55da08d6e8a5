# SPDX-License-Identifier: Apache-2.0
"""Latency of single selections that arrive at random, at shares of the rate at which the workers are saturated.

A client that waits for each answer sends nothing while the workers stall, so that its figures omit the calls which the
stall would have delayed. Here calls arrive by a Poisson process, whether or not earlier ones were answered, and each is
timed from its arrival.
"""

from dataclasses import dataclass

from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import Blocks, CallStatistics
from devstack.lab.rpc.client_calls import ECHO

PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}


@dataclass(frozen=True, slots=True)
class RandomLoad:
    """The blocks of echo calls and of single selections at one load, in percent of the saturated rate."""

    percent: int
    per_second: float
    blocks: Blocks

    def row(self, name: str) -> ResultRow:
        """Return the latency of selections beside that of echo calls which arrive as often."""
        echo, select = (CallStatistics(self.blocks[size][1:]) for size in (ECHO, 1))
        figures = {
            "arrivals_per_s": self.per_second,
            "calls": sum(block.calls for block in select.blocks),
            **{key: select.percentile_ms(percent) for key, percent in PERCENTILES.items()},
            **{f"echo_{key}": echo.percentile_ms(percent) for key, percent in PERCENTILES.items()},
        }
        ratio = select.percentile_ms(99) / echo.percentile_ms(99)
        return ResultRow(f"p99 of a select at {self.percent} % of its saturated rate, {name}", ratio, figures=figures)
