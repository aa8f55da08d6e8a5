# SPDX-License-Identifier: Apache-2.0
"""The driver that leaves the choice among fitting hosts to chance: what others are compared with."""

from collections.abc import Sequence

import numpy as np
from oslo_config import cfg

from scheduler_svc.conf import filters
from scheduler_svc.drivers.driver import Driver, Ranking, width
from scheduler_svc.drivers.filter import REASON_COUNT
from scheduler_svc.drivers.lot import Lot
from scheduler_svc.drivers.spread import room
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.plugins import loading
from scheduler_svc.reads import union
from scheduler_svc.request import Request
from scheduler_svc.table.view import View


class ChanceDriver(Driver):
    """Any host that passes the filters is as good as another."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.filters = filters
        self.reads = union(each.reads for each in filters)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "ChanceDriver":
        """Build with the filters that [filter_scheduler] enables."""
        return cls(pipeline.build(filters.enabled(conf), filters.load(conf), loading.filters(conf)))

    def rank(self, view: View, request: Request, count: int, seed: int) -> Ranking:
        """Draw hosts for each instance anew, among those that still take one."""
        left = pipeline.run(self.filters, view, request)
        if not left.left:
            return Ranking((), left.hosts, left.reasons)
        lot = Lot(seed)
        rows = np.flatnonzero(left.passes)
        most = room(view, request, rows)
        if request.together:
            rows = rows[most >= count]
            drawn = [lot.draw(rows, min(width(count), len(rows))).tolist()] * count if len(rows) else []
        else:
            drawn = []
            for _ in range(count):
                open_rows = np.flatnonzero(most)
                if not len(open_rows):
                    drawn = []
                    break
                indexes = lot.draw(open_rows, min(width(count), len(open_rows)))
                most[indexes[0]] -= 1
                drawn.append(rows[indexes].tolist())
        if not drawn:
            return Ranking((), left.hosts, {**left.reasons, REASON_COUNT: left.left})
        return Ranking([[view.name(row) for row in each] for each in drawn], left.hosts, left.reasons)
