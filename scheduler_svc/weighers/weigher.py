# SPDX-License-Identifier: Apache-2.0
"""What a weigher is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_svc.reads import Reads
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn, Rows
from scheduler_svc.table.view import View


@dataclass(frozen=True, slots=True)
class Weigher:
    """A figure for each row, more being better where its multiplier is positive; None where all rows are alike.

    ``step`` tells by how much one more instance of the request changes the figure of the host that takes it, so
    that many alike instances are placed with one pass over the hosts. ``reads`` is all of host state that ``raw`` may
    look at. ``among`` is asked in place of ``raw`` where it is there: for a figure of each of the given rows alone
    (None: of every row).

    ``option`` is the name of its multiplier, as an option and as metadata of aggregates, whose hosts it then goes for;
    ``sign`` is -1 where the multiplier says how bad the figure is. Figures are scaled from ``floor`` where it has one,
    lower ones counting as that, and else from the least.
    """

    name: str
    raw: Callable[[View, Request], FloatColumn | None]
    step: Callable[[Request], float]
    reads: Reads = field(default_factory=dict)
    among: Callable[[View, Request, Rows | None], FloatColumn] | None = None
    option: str = ""
    sign: int = 1
    floor: float | None = None
