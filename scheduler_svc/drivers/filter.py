# SPDX-License-Identifier: Apache-2.0
"""The default driver: filter, weigh, take the best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from scheduler_svc.conf import filters, metrics, weighers
from scheduler_svc.drivers.driver import WIDTH, Driver, Ranking
from scheduler_svc.drivers.lot import Lot, Rows
from scheduler_svc.drivers.spread import room, spread
from scheduler_svc.drivers.top import best
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.plugins import loading
from scheduler_svc.reads import union
from scheduler_svc.request import Request
from scheduler_svc.table.view import View
from scheduler_svc.weighers import scoring

SHOWN = 5  # leading hosts in the decision's record
ROUNDING = 1e-9  # share of a step that sums of floats may be off by
REASON_COUNT = "no room beside the rest of this request"


class FilterDriver(Driver):
    """Nova's FilterScheduler over columns, with host_subset_size."""

    def __init__(self, filters: Sequence[Filter], weighted: scoring.Weighted, subset: int = 1) -> None:
        self.filters = filters
        self.weighers = [weigher for weigher, _multiplier in weighted]
        self.weighted = weighted
        self.subset = subset
        self.reads = union([*(each.reads for each in filters), weighted.reads])

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "FilterDriver":
        """Build with the options of groups [filter_scheduler] and [metrics]."""
        group, weights = conf.filter_scheduler, metrics.load(conf)
        more = loading.weighers(conf)
        multipliers = weighers.multipliers(conf) | loading.multipliers(conf, more)
        enabled = {name: multipliers.get(name, 1.0) for name in group.enabled_weighers}
        return cls(
            pipeline.build(filters.enabled(conf), filters.load(conf), loading.filters(conf)),
            scoring.build(enabled, weights, more, weighers.image_properties(conf)),
            group.host_subset_size,
        )

    def rank(self, view: View, request: Request, count: int, seed: int) -> Ranking:
        """Filter and weigh all hosts once, then place the instances one after the other on the best."""
        left = pipeline.run(self.filters, view, request)
        if not left.left:
            return Ranking((), left.hosts, left.reasons)
        rows = None if left.left == view.size else np.flatnonzero(left.passes)
        if request.together:
            rows = _roomy(view, request, rows, count)
            if not len(rows):
                return _short_of_room(left)
        scores = scoring.score(self.weighted, view, request, rows)
        lot = Lot(seed)
        enough = max(WIDTH, self.subset) + (0 if request.together else count - 1)
        top = best(scores.values, enough, lot)
        top_rows = top if rows is None else rows[top]
        if request.together or count == 1:
            given = [self._one(len(top), lot)] * count
        else:
            most = room(view, request, top_rows).tolist()
            values = scores.values[top].tolist()
            given = spread(values, most, steps=scores.steps(top), count=count, subset=self.subset, lot=lot)
        if not given:
            return _short_of_room(left)
        names = [view.name(row) for row in top_rows.tolist()]
        candidates = [[names[index] for index in indexes] for indexes in given]
        near = _near(scores, top) if count == 1 and self.subset == 1 and not request.together else 1
        return Ranking(candidates, left.hosts, left.reasons, _shown(names, top, scores), near)

    def _one(self, size: int, lot: Lot) -> list[int]:
        """Return WIDTH of ``size`` ranked hosts, the first drawn from the leading ones."""
        first = lot.below(min(self.subset, size))
        return [first, *(index for index in range(size) if index != first)][:WIDTH]


def _roomy(view: View, request: Request, rows: Rows | None, count: int) -> Rows:
    """Return those of ``rows`` that have room for all instances at once."""
    every = np.arange(view.size) if rows is None else rows
    return every[room(view, request, every) >= count]


def _short_of_room(left: pipeline.Survivors) -> Ranking:
    return Ranking((), left.hosts, {**left.reasons, REASON_COUNT: left.left})


def _near(scores: scoring.Scores, top: Rows) -> int:
    """Return how many of the leading hosts are no worse than the first with one more instance."""
    leading = scores.values[top[:WIDTH]]
    step = abs(scores.steps(top[:1])[0]) * (1 + ROUNDING)
    return int(np.count_nonzero(leading >= leading[0] - step))


def _shown(names: Sequence[str], top: Rows, scores: scoring.Scores) -> list[Mapping[str, Any]]:
    return [
        {
            "name": names[index],
            "score": round(float(scores.values[at]), 6),
            "weights": {name: round(float(part[at]), 6) for name, part in scores.parts.items()},
        }
        for index, at in enumerate(top[:SHOWN].tolist())
    ]
