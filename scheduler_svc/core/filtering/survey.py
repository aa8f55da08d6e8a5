# SPDX-License-Identifier: Apache-2.0
"""Verdicts of filters and weighers on each host, for explain and comparisons with other schedulers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn
from scheduler_svc.core.table.view import View

MAX_SAMPLES = 5  # hosts per reason
PASSED, ABSENT = -1, -2  # codes of rows without a reason
REASON_ABSENT = "not among the hosts"
TOLERANCE = 1e-5  # precision of scores kept as 32-bit floats


@dataclass(frozen=True, slots=True)
class HostVerdict:
    """Verdict on a host: a rejection reason, or score and rank (from 1) among ``count`` passing hosts."""

    reason: str | None
    rank: int = 0
    count: int = 0
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class HostSurvey:
    """Verdicts on all rows; six bytes per row."""

    reasons: Sequence[str]
    codes: npt.NDArray[np.int16]  # indexes of ``reasons``, PASSED or ABSENT
    scores: npt.NDArray[np.float32] | None = None  # NaN for rejected rows; None from drivers that do not weigh

    def verdict(self, row: int | None) -> HostVerdict:
        """Return the verdict on a row; None and rows added later are absent."""
        code = int(self.codes[row]) if row is not None and row < len(self.codes) else ABSENT
        if code == ABSENT:
            return HostVerdict(REASON_ABSENT)
        if code != PASSED:
            return HostVerdict(self.reasons[code])
        count = int(np.count_nonzero(self.codes == PASSED))
        if self.scores is None or row is None:
            return HostVerdict(None, count=count)
        score = float(self.scores[row])
        better = int(np.count_nonzero(self.scores > score + TOLERANCE))
        return HostVerdict(None, 1 + better, count, score)

    def samples(self, view: View) -> Mapping[str, Sequence[str]]:
        """Return up to MAX_SAMPLES rejected hosts per reason, in filter order."""
        rows = {reason: np.flatnonzero(self.codes == code)[:MAX_SAMPLES] for code, reason in enumerate(self.reasons)}
        return {reason: view.names(rejected) for reason, rejected in rows.items() if len(rejected)}


def survey_filters(filters: Sequence[Filter], view: View, request: SchedulingRequest) -> HostSurvey:
    """Return the rejection reason of every host, without scores. Slower than a ranking."""
    codes = np.full(view.size, ABSENT, np.int16)
    reasons: dict[str, int] = {}

    def note(reason: str, rejected: Column) -> None:
        codes[rejected] = reasons.setdefault(reason, len(reasons))

    survivors = pipeline.run(filters, view, request, on_rejected=note)
    codes[survivors.passes] = PASSED
    return HostSurvey(list(reasons), codes)


def with_scores(survey: HostSurvey, rows: npt.NDArray[np.intp], values: FloatColumn) -> HostSurvey:
    scores = np.full(len(survey.codes), np.nan, np.float32)
    scores[rows] = values
    return HostSurvey(survey.reasons, survey.codes, scores)
