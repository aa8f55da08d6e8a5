# SPDX-License-Identifier: Apache-2.0
"""Rows of select_destinations: Nova's scheduler with Placement beside gantt, and gantt beside an echo."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from devstack.lab.nova.paired_cloud import ECHO, OURS, THEIRS
from devstack.lab.peers.comparison import TimedCalls, alternate
from devstack.lab.rows import ResultRow

BUDGETS = {1_000: 50.0, 10_000: 300.0}  # by hosts: Nova's time divided by ours
ECHO_BUDGET, ECHO_FROM = 3.0, 10_000  # our time divided by the echo's, from this number of hosts
LIMIT = 1_000  # [scheduler] max_placement_results by default
BLOCKS = 4
BLOCK_HOSTS = 5_000  # that Nova handles in a block


class BothSides(Protocol):
    """What is measured: see PairedCloud."""

    def grow(self, size: int) -> None:
        """Write computes up to this number."""

    def run_nova_scheduler(self, limit: int) -> None:
        """Start nova-scheduler with this max_placement_results."""

    def select(self, name: str) -> dict[str, Any]:
        """Select a host on a side."""

    def filtered_hosts(self) -> list[int]:
        """Return how many hosts Nova's filters saw in each request."""

    def echo(self, answer: Any) -> Any:
        """Run the echo for the duration of a block."""


@dataclass(frozen=True, slots=True)
class FilteredHosts:
    """How many hosts Nova's filters saw in the requests of a measurement, and how many they should have filtered."""

    counts: Sequence[int]
    intended: int
    requests: int

    @property
    def is_intended(self) -> bool:
        """Whether every request is counted, and saw the number."""
        return len(self.counts) == self.requests and set(self.counts) == {self.intended}


def limits(size: int) -> Sequence[int]:
    """Return the values of max_placement_results to measure with this number of hosts."""
    return [LIMIT] if size <= LIMIT else [LIMIT, size]


def measure(cloud: BothSides, sizes: Sequence[int], calls: int, tick: Callable[[], Any]) -> Iterator[ResultRow]:
    """Yield the rows of each number of hosts, in growing order; ``calls`` is ours of a block."""
    for size in sorted(sizes):
        cloud.grow(size)
        for limit in limits(size):
            cloud.run_nova_scheduler(limit)
            yield from _compare(cloud, size, limit, calls, tick)


def _compare(cloud: BothSides, size: int, limit: int, calls: int, tick: Callable[[], Any]) -> Iterator[ResultRow]:
    nova_calls = max(1, min(5, BLOCK_HOSTS // min(size, limit)))
    before = len(cloud.filtered_hosts())
    with cloud.echo(cloud.select(OURS)["answer"]):
        subjects: dict[str, tuple[TimedCalls, int]] = {
            OURS: (_calls(cloud, OURS), calls),
            ECHO: (_calls(cloud, ECHO), calls),
            THEIRS: (_calls(cloud, THEIRS), nova_calls),
        }
        times = alternate(subjects, blocks=BLOCKS, tick=tick)
    filtered = FilteredHosts(cloud.filtered_hosts()[before:], min(size, limit), (BLOCKS + 1) * nova_calls)
    figures: dict[str, float | int | str] = {
        "hosts": size,
        "max_placement_results": limit,
        "filters_saw_min": min(filtered.counts, default=0),
        "filters_saw_max": max(filtered.counts, default=0),
        **{f"{name}_p50_ms": measured.p50_us / 1e3 for name, measured in times.items()},
        **{f"{name}_calls": len(measured.seconds) for name, measured in times.items()},
    }
    yield _their_row(times[THEIRS].p50_us / times[OURS].p50_us, filtered, figures)
    budget = ECHO_BUDGET if size >= ECHO_FROM else None
    yield ResultRow(
        f"select_destinations, {size} hosts, limit {limit}: ours / echo",
        times[OURS].p50_us / times[ECHO].p50_us,
        budget,
        "at most",
        figures,
    )


def _their_row(ratio: float, filtered: FilteredHosts, figures: dict[str, float | int | str]) -> ResultRow:
    """Return the row of both sides; its ratio is 0 where Nova's filters did not see what they should have."""
    size, limit = figures["hosts"], figures["max_placement_results"]
    name = f"select_destinations, {size} hosts, limit {limit}: Nova + Placement / ours"
    if not filtered.is_intended:
        name += f" (void: Nova's filters did not see {filtered.intended} hosts in each of {filtered.requests} requests)"
        ratio = 0.0
    return ResultRow(name, ratio, BUDGETS.get(int(size)), "at least", figures)


def _calls(cloud: BothSides, name: str) -> TimedCalls:
    def calls(first: int, count: int) -> list[float]:
        return [float(cloud.select(name)["seconds"]) for _ in range(first, first + count)]

    return calls
