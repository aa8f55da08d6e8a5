# SPDX-License-Identifier: Apache-2.0
"""The default driver: filter, weigh, take the best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from scheduler_svc.conf import metrics
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
REASON_COUNT = "no room beside the rest of this request"


class FilterDriver(Driver):
    """Nova's FilterScheduler over columns, with host_subset_size."""

    def __init__(self, filters: Sequence[Filter], weighted: scoring.Weighted, subset: int = 1) -> None:
        self.filters = filters
        self._weighted = weighted
        self._subset = subset
        self.reads = union([*(each.reads for each in filters), *(weigher.reads for weigher, _ in weighted)])

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "FilterDriver":
        """Build with the options of groups [filter_scheduler] and [metrics]."""
        group, weights = conf.filter_scheduler, metrics.load(conf)
        multipliers = {
            scoring.ram.WEIGHER.name: group.ram_weight_multiplier,
            scoring.cpu.WEIGHER.name: group.cpu_weight_multiplier,
            scoring.disk.WEIGHER.name: group.disk_weight_multiplier,
            scoring.metrics.NAME: conf.metrics.weight_multiplier,
        }
        more = loading.weighers(conf)
        multipliers |= loading.multipliers(conf, more)
        enabled = {name: multipliers.get(name, 1.0) for name in group.enabled_weighers}
        return cls(
            pipeline.build(group.enabled_filters, weights, loading.filters(conf)),
            scoring.build(enabled, weights, more),
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
        scores = scoring.score(self._weighted, view, request, rows)
        lot = Lot(seed)
        enough = max(WIDTH, self._subset) + (0 if request.together else count - 1)
        top = best(scores.values, enough, lot)
        top_rows = top if rows is None else rows[top]
        if request.together or count == 1:
            given = [self._one(len(top), lot)] * count
        else:
            most = room(view, request, top_rows).tolist()
            values = scores.values[top].tolist()
            given = spread(values, most, step=scores.step, count=count, subset=self._subset, lot=lot)
        if not given:
            return _short_of_room(left)
        names = [view.name(row) for row in top_rows.tolist()]
        candidates = [[names[index] for index in indexes] for indexes in given]
        near = _near(scores, top) if count == 1 and self._subset == 1 and not request.together else 1
        return Ranking(candidates, left.hosts, left.reasons, _shown(names, top, scores), near)

    def _one(self, size: int, lot: Lot) -> list[int]:
        """Return WIDTH of ``size`` ranked hosts, the first drawn from the leading ones."""
        first = lot.below(min(self._subset, size))
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
    return int(np.count_nonzero(leading >= leading[0] - abs(scores.step)))


def _shown(names: Sequence[str], top: Rows, scores: scoring.Scores) -> list[Mapping[str, Any]]:
    return [
        {
            "name": names[index],
            "score": round(float(scores.values[at]), 6),
            "weights": {name: round(float(part[at]), 6) for name, part in scores.parts.items()},
        }
        for index, at in enumerate(top[:SHOWN].tolist())
    ]
