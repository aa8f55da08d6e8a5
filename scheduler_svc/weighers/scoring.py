# SPDX-License-Identifier: Apache-2.0
"""The weighers together: one score a host.

score = sum over weighers of multiplier x (raw - least) / (most - least), the bounds taken over the hosts that
passed the filters; a weigher that has the same figure for all of them adds 0. As in Nova (nova/weights.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rpcapi import errors
from scheduler_svc.metric_weights import NONE, MetricWeights
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers import cpu, disk, metrics, ram
from scheduler_svc.weighers.weigher import Weigher

NAMES = (ram.WEIGHER.name, cpu.WEIGHER.name, disk.WEIGHER.name, metrics.NAME)

Weighted = Sequence[tuple[Weigher, float]]


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the survivors, in their order, and what each weigher added.

    ``step`` is by how much one more instance changes the score of the host that takes it. The bounds stay those of
    this pass while the instances of one request are placed; only where hosts differ by less than one instance is
    its size taken for the span, as it would be after the first: alike hosts are filled evenly, not one by one.
    """

    values: FloatColumn
    step: float
    parts: Mapping[str, FloatColumn]


def build(multipliers: Mapping[str, float], weights: MetricWeights = NONE, plugins: Sequence[Weigher] = ()) -> Weighted:
    """Return the weighers with their multipliers, without those that add nothing; ``plugins`` are more, from outside.

    Raises BadConfiguration for unknown names.
    """
    unknown = multipliers.keys() - set(NAMES) - {each.name for each in plugins}
    if unknown:
        raise errors.BadConfiguration(
            why=f"there is no weigher {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}"
        )
    there = [ram.WEIGHER, cpu.WEIGHER, disk.WEIGHER]
    if weights.ratios:
        there.append(metrics.build(weights))
    there += plugins
    return [(weigher, multipliers[weigher.name]) for weigher in there if multipliers.get(weigher.name)]


def score(weighted: Weighted, view: View, request: Request, rows: npt.NDArray[np.intp] | None) -> Scores:
    """Weigh ``rows`` (None: every row of the view); at least one row."""
    values: FloatColumn | None = None
    step = 0.0
    parts: dict[str, FloatColumn] = {}
    for weigher, multiplier in weighted:
        raw = _figures(weigher, view, request, rows)
        least = raw.min()
        span = float(raw.max() - least)
        change = weigher.step(request)
        if change:
            step += multiplier * change / max(span, abs(change))
        if span > 0:
            part = (raw - least) * (multiplier / span)
            parts[weigher.name] = part
            values = part if values is None else values + part
    if values is None:
        values = np.zeros(view.size if rows is None else len(rows))
    return Scores(values, step, parts)


def _figures(weigher: Weigher, view: View, request: Request, rows: npt.NDArray[np.intp] | None) -> FloatColumn:
    if weigher.among is not None:
        return weigher.among(view, request, rows)
    figures = weigher.raw(view, request)
    return figures if rows is None else figures.take(rows)
