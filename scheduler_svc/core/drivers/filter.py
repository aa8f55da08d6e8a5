# SPDX-License-Identifier: Apache-2.0
"""Default driver: filters, weighs and ranks hosts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_svc.core.drivers.driver import MAX_CANDIDATES, Driver, Ranking
from scheduler_svc.core.drivers.random_choice import Rows, SeededRandom, top_indexes
from scheduler_svc.core.drivers.spread import ROUNDING, instance_capacity, separate_alternates, spread
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filtering.survey import PASSED, HostSurvey, survey_filters, with_scores
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.reads import union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import scoring

RECORDED_HOSTS = 5
SPREAD_HOSTS = 128  # leading hosts from which instances draw near candidates
SAMPLED = 8  # after a lost try, one in SAMPLED passing hosts is weighed
REASON_COUNT = "capacity taken by the rest of this request"


class FilterDriver(Driver):
    """Nova's FilterScheduler on columns. ``draws_alternates``: each instance draws them from equally good hosts."""

    draws_alternates = False

    def __init__(self, filters: Sequence[Filter], weigher_set: scoring.WeigherSet, subset: int = 1) -> None:
        self.filters = filters
        self.weighers = tuple(weigher for weigher, _multiplier in weigher_set)
        self.weigher_set = weigher_set
        self.subset = subset
        self.reads = union([*(filter_.reads for filter_ in filters), weigher_set.reads])

    def rank(self, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
        """Filter and weigh hosts, then assign instances one by one. After a lost try, weigh only a random sample."""
        survivors = pipeline.run(self.filters, view, request)
        if not survivors.count:
            return Ranking((), survivors.hosts, survivors.reasons)
        applied = pipeline.select(self.filters, request.scope)
        rows = None if survivors.count == view.size else np.flatnonzero(survivors.passes)
        if request.is_affinity:
            candidate_rows = np.arange(view.size) if rows is None else rows
            rows = candidate_rows[instance_capacity(view, request, candidate_rows, applied) >= count]
            if not len(rows):
                return _refuse_count(survivors)
        random = SeededRandom(seed)
        # If instances exclude each other or a try was lost, each instance needs a second host to fall back on.
        is_separated = bool(request.max_instances_per_host or request.decision.lost_tries)
        hosts_per_instance = 2 if is_separated else 1
        if request.decision.lost_tries:
            fewest = MAX_CANDIDATES + (0 if request.is_affinity else hosts_per_instance * count)
            rows = _sample(view, rows, fewest, random)
        scores = scoring.score(self.weigher_set, view, request, rows)
        top_count = max(MAX_CANDIDATES, self.subset) + (0 if request.is_affinity else hosts_per_instance * count - 1)
        is_drawn = self.draws_alternates or (self.subset == 1 and request.decision.is_contended)
        if is_drawn:
            top_count = max(top_count, SPREAD_HOSTS)
        top = top_indexes(scores.values, top_count, random)
        top_rows = top if rows is None else rows[top]
        if request.is_affinity or (count == 1 and not is_drawn):
            choices, nears = [self._first_candidates(len(top), random)] * count, list[int]()
        else:
            capacities = instance_capacity(view, request, top_rows, applied).tolist()
            values = scores.values[top].tolist()
            choices, nears = spread(
                values,
                capacities,
                steps=scores.steps(top),
                count=count,
                subset=self.subset,
                random=random,
                draws_near=is_drawn,
            )
            if is_separated:
                choices, nears = separate_alternates(choices, range(len(top))), []
        if not choices:
            return _refuse_count(survivors)
        names = [view.name(row) for row in top_rows.tolist()]
        candidates = [[names[index] for index in indexes] for indexes in choices]
        near = 1
        if count == 1 and self.subset == 1 and not request.is_affinity:
            near = nears[0] if nears else _near(scores, top)
        best = _best_entries(names, top, scores)
        return Ranking(candidates, survivors.hosts, survivors.reasons, best, near, nears=nears)

    def survey(self, view: View, request: SchedulingRequest) -> HostSurvey:
        survey = survey_filters(self.filters, view, request)
        rows = np.flatnonzero(survey.codes == PASSED)
        if not len(rows):
            return survey
        return with_scores(survey, rows, scoring.score(self.weigher_set, view, request, rows).values)

    def _first_candidates(self, size: int, random: SeededRandom) -> list[int]:
        first = random.random_index(min(self.subset, size))
        return [first, *(index for index in range(size) if index != first)][:MAX_CANDIDATES]


def _sample(view: View, rows: Rows | None, fewest: int, random: SeededRandom) -> Rows:
    candidate_rows = np.arange(view.size) if rows is None else rows
    size = max(fewest, len(candidate_rows) // SAMPLED)
    return candidate_rows if size >= len(candidate_rows) else random.sample(candidate_rows, size, view.size)


def _refuse_count(survivors: pipeline.Survivors) -> Ranking:
    return Ranking((), survivors.hosts, {**survivors.reasons, REASON_COUNT: survivors.count})


def _near(scores: scoring.HostScores, top: Rows) -> int:
    """Count the leading hosts whose score reaches the first host's score after one more instance."""
    leading = scores.values[top[:MAX_CANDIDATES]]
    step = abs(scores.steps(top[:1])[0]) * (1 + ROUNDING)
    return int(np.count_nonzero(leading >= leading[0] - step))


def _best_entries(names: Sequence[str], top: Rows, scores: scoring.HostScores) -> list[Mapping[str, Any]]:
    return [
        {
            "name": names[index],
            "score": round(float(scores.values[position]), 6),
            "weights": {name: round(float(weights[position]), 6) for name, weights in scores.parts.items()},
        }
        for index, position in enumerate(top[:RECORDED_HOSTS].tolist())
    ]
