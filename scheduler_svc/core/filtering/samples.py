# SPDX-License-Identifier: Apache-2.0
"""Samples of the hosts rejected for each reason, for explain."""

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

MAX_SAMPLES = 5  # hosts per reason


def collect(filters: Sequence[Filter], view: View, request: SchedulingRequest) -> Mapping[str, Sequence[str]]:
    """Return up to MOST host names per reason, in the order in which the filters reject them."""
    samples: dict[str, list[str]] = {}

    def add_samples(reason: str, rejected: Column) -> None:
        rows = np.flatnonzero(rejected)
        if len(rows):
            names = samples.setdefault(reason, [])
            names += [view.name(row) for row in rows[: MAX_SAMPLES - len(names)].tolist()]

    pipeline.run(filters, view, request, on_rejected=add_samples)
    return samples
