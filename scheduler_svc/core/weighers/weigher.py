# SPDX-License-Identifier: Apache-2.0
"""Weigher interface."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn, Rows
from scheduler_svc.core.table.view import View


def unchanged(request: SchedulingRequest) -> float:
    """Return 0: an instance does not change the host's number."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Weigher:
    """A weigher by its configured name."""

    name: str
    #: Number per row, more is better; None if all rows are equal.
    raw: Callable[[View, SchedulingRequest], FloatColumn | None]
    #: Change of a host's number per instance, so that many equal instances are placed in one pass.
    step: Callable[[SchedulingRequest], float] = unchanged
    reads: Reads = field(default_factory=dict)  #: host state keys that ``raw`` may read
    #: Called instead of ``raw`` if set, for these rows only (None: all rows).
    per_host: Callable[[View, SchedulingRequest, Rows | None], FloatColumn] | None = None
    #: Steps of given rows if they differ between hosts; added to ``step``.
    row_steps: Callable[[View, SchedulingRequest, Rows], FloatColumn] | None = None
    option: str = ""  #: multiplier option, also the aggregate metadata key that overrides it; built-in weighers only
    sign: int = 1  #: -1 if the multiplier is a penalty
    floor: float | None = None  #: numbers are scaled from here, and raised to it; None: from the smallest number
