# SPDX-License-Identifier: Apache-2.0
"""Host scores: weighted sums of all weighers, as in Nova (nova/weights.py).

score = sum over weighers of multiplier * (raw - least) / (most - least). The bounds are those of the hosts that passed
the filters, except that ``least`` is the weigher's floor if it has one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from rpcapi import errors
from scheduler_svc.core import built_in
from scheduler_svc.core.built_in import BuiltInFailed
from scheduler_svc.core.reads import Reads, union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS as AGGREGATE_READS
from scheduler_svc.core.table.columns import FloatColumn, Rows
from scheduler_svc.core.table.view import View
from scheduler_svc.core.timings import WEIGHER, Laps, measured_decisions
from scheduler_svc.core.weighers.multipliers import parse_multiplier
from scheduler_svc.core.weighers.options import DEFAULTS, WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher

Multiplier = float | FloatColumn

_IS_MEASURED = measured_decisions()


@dataclass(frozen=True, eq=False)  # compared by identity, as a cache key
class WeigherSet:
    """Weighers with their configured multipliers, which aggregates may override."""

    pairs: tuple[tuple[Weigher, float], ...]

    def __iter__(self) -> Iterator[tuple[Weigher, float]]:
        return iter(self.pairs)

    @property
    def reads(self) -> Reads:
        """Host state keys that scores depend on."""
        overridden = AGGREGATE_READS if any(weigher.option for weigher, _ in self.pairs) else {}
        return union([overridden, *(weigher.reads for weigher, _ in self.pairs)])

    def effective_multipliers(self, view: View) -> list[tuple[Weigher, Multiplier]]:
        """Return the weighers that affect any host, each with its multiplier: one number, or one per row."""
        aggregates = view.aggregates

        def compute() -> list[tuple[Weigher, Multiplier]]:
            pairs = [
                (
                    weigher,
                    weigher.sign
                    * (
                        aggregates.smallest(weigher.option, parse_multiplier, configured)
                        if weigher.option
                        else configured
                    ),
                )
                for weigher, configured in self.pairs
            ]
            return [(weigher, multiplier) for weigher, multiplier in pairs if np.any(multiplier)]

        return aggregates.get_or_compute(self, compute)


def build(
    configured: Mapping[str, float], options: WeigherOptions = DEFAULTS, plugins: Sequence[Weigher] = ()
) -> WeigherSet:
    """Return the ``configured`` weighers that can have an effect. Raises BadConfiguration for unknown names."""
    unknown = configured.keys() - set(built_in.WEIGHER_NAMES) - {weigher.name for weigher in plugins}
    if unknown:
        allowed = ", ".join(built_in.WEIGHER_NAMES)
        raise errors.BadConfiguration(why=f"unknown weigher {', '.join(sorted(unknown))}; allowed: {allowed}")
    available = [*_built_in(options), *plugins]
    # A multiplier of 0 matters if aggregates may override it.
    pairs = ((weigher, configured[weigher.name]) for weigher in available if weigher.name in configured)
    return WeigherSet(tuple((weigher, multiplier) for weigher, multiplier in pairs if multiplier or weigher.option))


def _built_in(options: WeigherOptions) -> Iterator[Weigher]:
    for entry in built_in.WEIGHERS:
        loaded = entry.load()
        weigher = loaded if isinstance(loaded, Weigher) else loaded(options)
        if weigher is not None:
            yield replace(weigher, option=entry.option)


@dataclass(frozen=True, slots=True)
class RowSteps:
    """Steps of a weigher whose effect differs between hosts, computed on demand.

    ``raw`` returns the steps for rows of the view. ``rows`` are the survivors' rows; None means all rows.
    """

    raw: Callable[[Rows], FloatColumn]
    rows: Rows | None
    multiplier: Multiplier
    span: float

    def scaled(self, indexes: Rows) -> FloatColumn:
        """Return how much an instance changes the scores of these survivors."""
        steps = self.raw(indexes if self.rows is None else self.rows[indexes])
        unit = max(self.span, float(np.abs(steps).max(initial=0.0))) or 1.0
        return steps * ((self.multiplier if isinstance(self.multiplier, float) else self.multiplier[indexes]) / unit)


@dataclass(frozen=True, slots=True)
class HostScores:
    """Scores of the survivors in order, and each weigher's part.

    The bounds stay fixed while one request's instances are placed. If hosts differ by less than one instance, the span
    is the size of an instance, as it will be after the first placement, so that equal hosts fill evenly.
    """

    values: FloatColumn
    step: Multiplier  # change of a host's score per instance: one number, or one per survivor
    parts: Mapping[str, FloatColumn]
    row_steps: Sequence[RowSteps] = ()

    def steps(self, indexes: Rows) -> list[float]:
        if isinstance(self.step, float) and not self.row_steps:
            return [self.step] * len(indexes)
        own = np.full(len(indexes), self.step) if isinstance(self.step, float) else self.step[indexes]
        return sum((row_steps.scaled(indexes) for row_steps in self.row_steps), own).tolist()


def score(
    weighers: WeigherSet, view: View, request: SchedulingRequest, rows: npt.NDArray[np.intp] | None
) -> HostScores:
    """Score at least one row (None: all rows of the view). Raises BuiltInFailed and PluginFailed."""
    values: FloatColumn | None = None
    step: Multiplier = 0.0
    parts: dict[str, FloatColumn] = {}
    row_steps: list[RowSteps] = []
    laps = Laps() if next(_IS_MEASURED) else None
    for weigher, factor in weighers.effective_multipliers(view):
        if laps is not None:
            laps.begin()
        try:
            raw = _raw_values(weigher, view, request, rows)
        except errors.GanttError:  # only plugins raise GanttError
            raise
        except Exception as error:
            raise BuiltInFailed(WEIGHER, weigher.name, _repeat(weigher, request)) from error
        if laps is not None:
            laps.lap(WEIGHER, weigher.name, view.size, count=weigher.per_host is None)
        change = weigher.step(request)
        if raw is None and not change:
            continue
        multiplier = factor if rows is None or isinstance(factor, float) else factor.take(rows)
        span = 0.0
        if raw is not None:
            raw, span = _scale(weigher, raw)
        if change:
            step = step + multiplier * (change / max(span, abs(change)))
        if weigher.row_steps is not None and raw is not None:
            row_steps.append(RowSteps(partial(weigher.row_steps, view, request), rows, multiplier, span))
        if raw is not None and span > 0:
            part = raw * (multiplier / span)
            parts[weigher.name] = part
            values = part if values is None else values + part
    if values is None:
        values = np.zeros(view.size if rows is None else len(rows))
    return HostScores(values, step, parts, row_steps)


def _repeat(weigher: Weigher, request: SchedulingRequest) -> Callable[[View], object]:
    return lambda view: weigher.raw(view, request)


def _scale(weigher: Weigher, raw: FloatColumn) -> tuple[FloatColumn, float]:
    least, most = raw.min(), raw.max()
    if weigher.floor is None:
        return raw - least, float(most - least)
    if least < weigher.floor:
        raw = np.maximum(raw, weigher.floor)
        most = max(most, weigher.floor)
    return (raw - weigher.floor if weigher.floor else raw), float(most - weigher.floor)


def _raw_values(
    weigher: Weigher, view: View, request: SchedulingRequest, rows: npt.NDArray[np.intp] | None
) -> FloatColumn | None:
    if weigher.per_host is not None:
        return weigher.per_host(view, request, rows)
    values = weigher.raw(view, request)
    return values if values is None or rows is None else values.take(rows)
