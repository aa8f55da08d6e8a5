# SPDX-License-Identifier: Apache-2.0
"""Rows of select_destinations: Nova's scheduler with Placement against gantt, and gantt against an echo."""

from collections.abc import Iterator, Sequence

from devstack.lab.nova.paired_cloud import ECHO, OURS, THEIRS, PairedCloud
from devstack.lab.rows import ResultRow
from devstack.lab.timing import TimedCalls, alternate

BUDGETS = {1_000: 50.0, 10_000: 300.0}  # {number of hosts: Nova's time divided by gantt's}
ECHO_BUDGET, ECHO_FROM = 3.0, 10_000  # our time divided by the echo's, from this number of hosts
LIMIT = 1_000  # default of [scheduler] max_placement_results
BLOCKS = 4
BLOCK_HOSTS = 5_000  # hosts that Nova checks per block


def limits(size: int) -> Sequence[int]:
    return [LIMIT] if size <= LIMIT else [LIMIT, size]


def measure(cloud: PairedCloud, sizes: Sequence[int], calls: int) -> Iterator[ResultRow]:
    """Yield the rows per number of hosts; ``calls`` is the number of gantt's calls per block."""
    for size in sorted(sizes):
        cloud.grow(size)
        for limit in limits(size):
            cloud.run_nova_scheduler(limit)
            yield from _compare(cloud, size, limit, calls)


def _compare(cloud: PairedCloud, size: int, limit: int, calls: int) -> Iterator[ResultRow]:
    nova_calls = max(1, min(5, BLOCK_HOSTS // min(size, limit)))
    before = len(cloud.filtered_hosts())
    with cloud.echo(cloud.select(OURS)["answer"]):
        subjects: dict[str, tuple[TimedCalls, int]] = {
            OURS: (_calls(cloud, OURS), calls),
            ECHO: (_calls(cloud, ECHO), calls),
            THEIRS: (_calls(cloud, THEIRS), nova_calls),
        }
        times = alternate(subjects, blocks=BLOCKS)
    filtered_hosts, requests = cloud.filtered_hosts()[before:], (BLOCKS + 1) * nova_calls
    figures: dict[str, float | int | str] = {
        "hosts": size,
        "max_placement_results": limit,
        "filters_saw_min": min(filtered_hosts, default=0),
        "filters_saw_max": max(filtered_hosts, default=0),
        **{f"{name}_p50_ms": measured.p50_us / 1e3 for name, measured in times.items()},
        **{f"{name}_calls": len(measured.seconds) for name, measured in times.items()},
    }
    question = f"select_destinations, {size} hosts, limit {limit}"
    name, ratio = f"{question}: Nova + Placement / ours", times[THEIRS].p50_us / times[OURS].p50_us
    intended = min(size, limit)
    if filtered_hosts != [intended] * requests:
        name += f" (void: Nova's filters did not see {intended} hosts in each of {requests} requests)"
        ratio = 0.0
    yield ResultRow(name, ratio, BUDGETS.get(size), "at least", figures)
    ratio, budget = times[OURS].p50_us / times[ECHO].p50_us, ECHO_BUDGET if size >= ECHO_FROM else None
    yield ResultRow(f"{question}: ours / echo", ratio, budget, "at most", figures)


def _calls(cloud: PairedCloud, name: str) -> TimedCalls:
    def calls(first: int, count: int) -> list[float]:
        return [float(cloud.select(name)["seconds"]) for _ in range(first, first + count)]

    return calls
