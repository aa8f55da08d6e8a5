# SPDX-License-Identifier: Apache-2.0
"""Result rows of a replay, several per driver, and its plot."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from devstack.lab.race.regret import JudgedClaim
from devstack.lab.replay.observer import MEMORY, UsageSample
from devstack.lab.replay.policies import ReplayPolicy
from devstack.lab.replay.scenario import ReplayRun
from devstack.lab.rows import ResultRow
from scheduler_svc.core.records import Snapshot
from scheduler_svc.core.weighers import scoring

HOUR = 3600.0
PANELS = (
    ("memory_density", "memory in use on hosts\nthat are not empty"),
    ("cpu_density", "cpu in use on hosts\nthat are not empty"),
    ("empty_hosts", "empty hosts"),
    ("stranded_cpu", "stranded cpu,\nshare of all"),
    ("stranded_memory", "stranded memory,\nshare of all"),
)


def rows(policy: ReplayPolicy, run: ReplayRun, oracle_placements: int, hosts: int) -> Iterator[ResultRow]:
    counts = {"placed": run.placements, "refused": run.refusals, "overcommit": run.overcommit}
    refused_number, refusal_fill = run.first_refusal or (0, 0.0)
    yield ResultRow(f"{policy.name}: overcommit", run.overcommit, 0, figures={**counts, "hosts": hosts})
    yield ResultRow(
        f"{policy.name}: placed, beside the oracle",
        run.placements / oracle_placements if oracle_placements else 1.0,
        figures={
            **counts,
            "oracle_placed": oracle_placements,
            "refused_oracle_placed": run.oracle_only,
            "placed_oracle_refused": run.driver_only,
            "refused_with_room": run.avoidable_refusals,
            "first_refusal_request": refused_number,
            "first_refusal_fill": refusal_fill,
            "placed_per_s": run.placements / run.seconds if run.seconds else 0.0,
            "ms_per_server": 1000 * run.seconds / max(1, run.placements + run.refusals),
        },
    )
    yield ResultRow(
        f"{policy.name}: score regret",
        regret(policy.weighted, run.claims),
        figures={**counts, "judged": len(run.claims)},
    )
    yield ResultRow(
        f"{policy.name}: density, mean of cpu and memory",
        (_mean(run.samples, "cpu_density") + _mean(run.samples, "memory_density")) / 2,
        figures={**counts, **_over_time(run.samples)},
    )


def regret(weighted: scoring.WeigherSet, claims: Sequence[JudgedClaim]) -> float:
    """Return the missed scores as a share of their range: with negative multipliers the best score may be 0."""
    span = len(claims) * sum(abs(multiplier) for _, multiplier in weighted)
    return sum(claim.best_score - claim.score for claim in claims) / span if span else 0.0


def _over_time(samples: Sequence[UsageSample]) -> dict[str, float]:
    peak = max(samples, key=lambda sample: sample.fill)
    figures: dict[str, float] = {}
    for name in ("cpu_density", "memory_density", "empty_hosts", "stranded_cpu", "stranded_memory"):
        figures[f"{name}_mean"] = _mean(samples, name)
        figures[f"{name}_at_peak"] = getattr(peak, name)
    return {**figures, "fill_at_peak": peak.fill}


def _mean(samples: Sequence[UsageSample], name: str) -> float:
    return float(sum(getattr(sample, name) for sample in samples) / len(samples))


def host_sizes(snapshot: Snapshot) -> dict[str, int]:
    """Return each host's capacity of memory, largest first."""
    sizes = {
        name: document["inventories"][MEMORY]["capacity"]
        for name, document in snapshot.providers.items()
        if MEMORY in document["inventories"]
    }
    return dict(sorted(sizes.items(), key=lambda host: -host[1]))


def draw_landing(figure: Any, runs: Mapping[str, ReplayRun], sizes: Mapping[str, int]) -> None:
    """Draw a bar per host with the number of its servers, and a line at each change of size."""
    figure.set_size_inches(9, 1 + 1.3 * len(runs))
    borders = [number for number, (size, after) in enumerate(pairwise(sizes.values())) if size != after]
    for axes, (name, run) in zip(
        figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0], runs.items(), strict=True
    ):
        axes.bar(range(len(sizes)), [run.servers_by_host[host] for host in sizes], width=1.0)
        for border in borders:
            axes.axvline(border + 0.5, color="grey", linestyle=":")
        axes.set(yscale="symlog", ylabel=name)
    figure.supylabel("servers")
    axes.set_xlabel("hosts, those with most memory first")


def draw(figure: Any, runs: Mapping[str, ReplayRun]) -> None:
    figure.set_size_inches(9, 12)
    panels = figure.subplots(len(PANELS), 1, sharex=True)
    for axes, (name, title) in zip(panels, PANELS, strict=True):
        for driver, run in runs.items():
            begins = run.samples[0].at
            hours = [(sample.at - begins) / HOUR for sample in run.samples]
            axes.plot(hours, [getattr(sample, name) for sample in run.samples], label=driver)
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    panels[0].legend()
    panels[-1].set_xlabel("hours of the trace")
