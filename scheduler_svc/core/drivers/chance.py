# SPDX-License-Identifier: Apache-2.0
"""The driver that selects hosts at random among those that pass the filters: a baseline for comparisons."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.drivers.driver import Driver, Ranking, max_candidates
from scheduler_svc.core.drivers.filter import REASON_COUNT
from scheduler_svc.core.drivers.random_choice import SeededRandom
from scheduler_svc.core.drivers.spread import instance_capacity, separate_alternates
from scheduler_svc.core.filtering import pipeline, scopes
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.reads import union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View


class ChanceDriver(Driver):
    """Ranks the hosts that pass the filters in random order."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.filters = filters
        self.reads = union(filter_.reads for filter_ in filters)

    def rank(self, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
        """Draw hosts for each instance, among those that still have capacity."""
        survivors = pipeline.run(self.filters, view, request)
        if not survivors.count:
            return Ranking((), survivors.hosts, survivors.reasons)
        random = SeededRandom(seed)
        rows = np.flatnonzero(survivors.passes)
        capacities = instance_capacity(view, request, rows, scopes.select(self.filters, request.scope))
        if request.is_affinity:
            rows = rows[capacities >= count]
            choices = [random.draw(rows, min(max_candidates(count), len(rows))).tolist()] * count if len(rows) else []
        else:
            choices = []
            for _ in range(count):
                open_rows = np.flatnonzero(capacities)
                if not len(open_rows):
                    choices = []
                    break
                indexes = random.draw(open_rows, min(max_candidates(count), len(open_rows)))
                capacities[indexes[0]] -= 1
                choices.append(rows[indexes].tolist())
            if request.max_instances_per_host:
                choices = separate_alternates(choices, random.shuffle(rows).tolist())
        if not choices:
            return Ranking((), survivors.hosts, {**survivors.reasons, REASON_COUNT: survivors.count})
        return Ranking(
            [[view.name(row) for row in chosen_rows] for chosen_rows in choices], survivors.hosts, survivors.reasons
        )
