# SPDX-License-Identifier: Apache-2.0
"""Weigher interface."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn, Rows
from scheduler_svc.core.table.view import View


def unchanged(request: SchedulingRequest) -> float:
    """Return 0, for weighers whose number an instance does not change."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Weigher:
    """Weigher with its configured name."""

    name: str
    #: Number per row, more is better; None if all rows are equal.
    raw: Callable[[View, SchedulingRequest], FloatColumn | None]
    #: Change of a host's number per instance. It lets many equal instances be placed in one pass.
    step: Callable[[SchedulingRequest], float] = unchanged
    reads: Reads = field(default_factory=dict)  #: host state keys that ``raw`` may read
    #: Called instead of ``raw``, if set, and only for these rows (None: all rows).
    per_host: Callable[[View, SchedulingRequest, Rows | None], FloatColumn] | None = None
    #: Steps of these rows, if they differ between hosts. They are added to ``step``.
    row_steps: Callable[[View, SchedulingRequest, Rows], FloatColumn] | None = None
    #: Option with the multiplier, and aggregate metadata key that overrides it. Set only for built-in weighers.
    option: str = ""
    sign: int = 1  #: -1 if the multiplier is a penalty
    #: Lower bound of the scale, to which smaller numbers are raised. None means the smallest number.
    floor: float | None = None
