# SPDX-License-Identifier: Apache-2.0
"""The interface of weighers."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn, Rows
from scheduler_svc.core.table.view import View


def unchanged(request: SchedulingRequest) -> float:
    """Return 0: instances of the request do not change the number of a host."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Weigher:
    """A weigher: ``raw`` returns a number per row, or None if all rows are equal. More is better.

    ``step`` returns the change of a host's number per instance of the request that it takes, so that many equal
    instances are placed with one pass over the hosts. ``reads`` lists the host state keys that ``raw`` may read.
    ``row_steps``: the same for given rows, where it differs between them; it is added to ``step``.
    ``per_host`` is called instead of ``raw`` if it is not None: it returns numbers for the given rows only (None: all
    rows).

    ``option`` is the name of the multiplier's option, and of the aggregate metadata that overrides it; the list of
    built-in weighers has it, plugins have none. ``sign`` is -1
    if the multiplier is a penalty. Numbers are scaled from ``floor`` if it is set (smaller ones are raised to it), else
    from the smallest number.
    """

    name: str
    raw: Callable[[View, SchedulingRequest], FloatColumn | None]
    step: Callable[[SchedulingRequest], float] = unchanged
    reads: Reads = field(default_factory=dict)
    per_host: Callable[[View, SchedulingRequest, Rows | None], FloatColumn] | None = None
    row_steps: Callable[[View, SchedulingRequest, Rows], FloatColumn] | None = None
    option: str = ""
    sign: int = 1
    floor: float | None = None
