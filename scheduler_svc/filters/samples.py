# SPDX-License-Identifier: Apache-2.0
"""Some of the hosts that fall to each reason, for who asks why."""

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

MOST = 5  # hosts of one reason


def take(filters: Sequence[Filter], view: View, request: Request) -> Mapping[str, Sequence[str]]:
    """Return up to MOST names of each reason, by reason, in the order in which they were found."""
    found: dict[str, list[str]] = {}

    def witness(reason: str, fell: Column) -> None:
        rows = np.flatnonzero(fell)
        if len(rows):
            names = found.setdefault(reason, [])
            names += [view.name(row) for row in rows[: MOST - len(names)].tolist()]

    pipeline.run(filters, view, request, witness=witness)
    return found
