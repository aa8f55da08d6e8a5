# SPDX-License-Identifier: Apache-2.0
"""Rows of executors that take turns on the same servers, and of latency under random load."""

from collections.abc import Sequence
from statistics import median

from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import ECHO, Blocks, CallTimes

EXECUTOR_BUDGET = 0.9
METRICS_BUDGET = 1.03  # processor time with metrics, relative to the time without them
PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}

# Blocks of one executor, one element per run of its daemons.
Turns = Sequence[Blocks]


def statistics(turns: Turns) -> dict[int, CallTimes]:
    """Join an executor's calls of all turns, without warm-ups, by batch size."""
    return {size: CallTimes.joined([block for blocks in turns for block in blocks[size][1:]]) for size in turns[0]}


def comparison_row(
    name: str, own: Turns, base: Turns, size: int, *, by_cost: bool = False, has_budget: bool = False
) -> ResultRow:
    """Compare pairs of turns by the median ratio of their call rates, or (``by_cost``) processor times per call."""
    pairs = [(statistics([first])[size], statistics([second])[size]) for first, second in zip(own, base, strict=True)]
    rates = [first.per_second / second.per_second for first, second in pairs]
    costs = [first.processor_ms / second.processor_ms for first, second in pairs if second.processor_ms]
    figures: dict[str, float | int | str]
    if by_cost:
        figures = {"turns": len(costs), "rate_ratio": median(rates)}
        ratio = median(costs) if costs else float("nan")
        return ResultRow(name, ratio, METRICS_BUDGET if has_budget else None, figures=figures)
    figures = {
        "turns": len(rates),
        "least_ratio": min(rates),
        "greatest_ratio": max(rates),
        "processor_ratio": median(costs) if costs else "-",
    }
    return ResultRow(name, median(rates), EXECUTOR_BUDGET if has_budget else None, "at least", figures)


def load_row(name: str, percent: int, per_second: float, blocks: Blocks) -> ResultRow:
    """Return the latency of selections that arrive at random, relative to equally frequent echo calls.

    Calls are timed from their arrival in a Poisson process: a client that waits for each answer would omit the calls
    that a stall delays.
    """
    measured = statistics([blocks])
    echo, select = measured[ECHO], measured[1]
    figures = {
        "arrivals_per_s": per_second,
        "calls": select.calls,
        **{key: select.percentile_ms(share) for key, share in PERCENTILES.items()},
        **{f"echo_{key}": echo.percentile_ms(share) for key, share in PERCENTILES.items()},
    }
    ratio = select.percentile_ms(99) / echo.percentile_ms(99)
    return ResultRow(f"p99 of a select at {percent} % of its saturated rate, {name}", ratio, figures=figures)
