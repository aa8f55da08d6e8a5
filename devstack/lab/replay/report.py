# SPDX-License-Identifier: Apache-2.0
"""What a replay says, a few rows a driver."""

from collections.abc import Iterator, Sequence

from devstack.lab.regret import Choice
from devstack.lab.replay.observer import Sample
from devstack.lab.replay.play import Run
from devstack.lab.replay.policies import Policy
from devstack.lab.rows import Row
from scheduler_svc.weighers import scoring


def rows(policy: Policy, run: Run, foreseen: int, hosts: int) -> Iterator[Row]:
    """Yield the rows of one driver; ``foreseen`` is how many servers the oracle placed."""
    counts = {"placed": run.placed, "refused": run.refused, "overcommit": run.overcommit}
    first = run.first_refusal
    yield Row(f"{policy.name}: overcommit", run.overcommit, 0, figures={**counts, "hosts": hosts})
    yield Row(
        f"{policy.name}: placed, beside the oracle",
        run.placed / foreseen if foreseen else 1.0,
        figures={
            **counts,
            "oracle_placed": foreseen,
            "refused_oracle_placed": run.lost,
            "placed_oracle_refused": run.gained,
            "refused_with_room": run.avoidable,
            "first_refusal_request": first.request if first else 0,
            "first_refusal_fill": first.fill if first else 0.0,
            "placed_per_s": run.placed / run.seconds if run.seconds else 0.0,
            "ms_per_server": 1000 * run.seconds / max(1, run.placed + run.refused),
        },
    )
    yield Row(
        f"{policy.name}: score regret",
        regret(policy.weighted, run.choices),
        figures={**counts, "judged": len(run.choices)},
    )
    yield Row(
        f"{policy.name}: density, mean of cpu and memory",
        (_mean(run.samples, "cpu_density") + _mean(run.samples, "memory_density")) / 2,
        figures={**counts, **_over_time(run.samples)},
    )


def regret(weighted: scoring.Weighted, made: Sequence[Choice]) -> float:
    """Return by how much the chosen hosts' scores missed the best ones', as a share of what scores can differ by.

    A share of the best score itself would mean nothing where multipliers are negative and the best score is 0.
    """
    span = len(made) * sum(abs(multiplier) for _, multiplier in weighted)
    return sum(each.best - each.chosen for each in made) / span if span else 0.0


def _over_time(samples: Sequence[Sample]) -> dict[str, float]:
    """Return means over the trace's time, and the moment at which most was in use."""
    full = max(samples, key=lambda sample: sample.fill)
    found: dict[str, float] = {}
    for name in ("cpu_density", "memory_density", "empty_hosts", "stranded_cpu", "stranded_memory"):
        found[f"{name}_mean"] = _mean(samples, name)
        found[f"{name}_at_peak"] = getattr(full, name)
    return {**found, "fill_at_peak": full.fill}


def _mean(samples: Sequence[Sample], name: str) -> float:
    return sum(getattr(sample, name) for sample in samples) / len(samples)
