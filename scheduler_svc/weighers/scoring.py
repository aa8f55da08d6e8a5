# SPDX-License-Identifier: Apache-2.0
"""The weighers together: one score a host.

score = sum over weighers of multiplier x (raw - least) / (most - least), the bounds taken over the hosts that
passed the filters, ``least`` being the weigher's floor where it has one. As in Nova (nova/weights.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rpcapi import errors
from scheduler_svc.metric_weights import NONE, MetricWeights
from scheduler_svc.plugins.figures import WEIGHER, Stopwatch
from scheduler_svc.reads import Reads, union
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn, Rows
from scheduler_svc.table.view import View
from scheduler_svc.weighers import (
    balance,
    build_failure,
    cpu,
    cross_cell,
    disk,
    hypervisor_version,
    image_properties,
    io_ops,
    metrics,
    multipliers,
    num_instances,
    pci,
    ram,
    server_group,
    volume_near,
)
from scheduler_svc.weighers.multipliers import Multiplier
from scheduler_svc.weighers.weigher import Weigher

_BUILT_IN = (
    ram.WEIGHER,
    cpu.WEIGHER,
    disk.WEIGHER,
    balance.WEIGHER,
    hypervisor_version.WEIGHER,
    num_instances.WEIGHER,
    io_ops.WEIGHER,
    pci.WEIGHER,
    server_group.SOFT_AFFINITY,
    server_group.SOFT_ANTI_AFFINITY,
    build_failure.WEIGHER,
    cross_cell.WEIGHER,
    volume_near.WEIGHER,
)
_WATCH = Stopwatch()
NAMES = (*(each.name for each in _BUILT_IN), image_properties.NAME, metrics.NAME)


@dataclass(frozen=True, eq=False)  # told from others by what it is: what is found out for it is kept under it
class Weighted:
    """Weighers, and what their figures are multiplied by where no aggregate says otherwise."""

    pairs: tuple[tuple[Weigher, float], ...]

    def __iter__(self) -> Iterator[tuple[Weigher, float]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def reads(self) -> Reads:
        """All of host state that scores follow from."""
        overridden = multipliers.READS if any(weigher.option for weigher, _ in self.pairs) else {}
        return union([overridden, *(weigher.reads for weigher, _ in self.pairs)])

    def multiplied(self, view: View) -> list[tuple[Weigher, Multiplier]]:
        """Return the weighers that add something to some host, with one multiplier or one a row."""
        aggregates = view.aggregates

        def find() -> list[tuple[Weigher, Multiplier]]:
            found = [
                (weigher, weigher.sign * multipliers.multiplier(aggregates, weigher.option, configured))
                for weigher, configured in self.pairs
            ]
            return [(weigher, given) for weigher, given in found if np.any(given)]

        return aggregates.once(self, find)


def build(
    configured: Mapping[str, float],
    weights: MetricWeights = NONE,
    plugins: Sequence[Weigher] = (),
    properties: Mapping[str, float] | None = None,
) -> Weighted:
    """Return the weighers that ``configured`` names with their multipliers, without those that never add anything.

    ``weights`` is for the metrics' weigher, ``properties`` for that of image properties; ``plugins`` are more weighers,
    from outside. Raises BadConfiguration for unknown names.
    """
    unknown = configured.keys() - set(NAMES) - {each.name for each in plugins}
    if unknown:
        raise errors.BadConfiguration(
            why=f"there is no weigher {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}"
        )
    there = list(_BUILT_IN)
    if properties:
        there.append(image_properties.build(properties))
    if weights.ratios:
        there.append(metrics.build(weights))
    there += plugins
    # One at 0 stays where an aggregate may give it weight.
    pairs = ((weigher, configured[weigher.name]) for weigher in there if weigher.name in configured)
    return Weighted(tuple((weigher, multiplier) for weigher, multiplier in pairs if multiplier or weigher.option))


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the survivors, in their order, and what each weigher added.

    ``step`` is by how much one more instance changes the score of the host that takes it: one number, or one for
    each survivor. The bounds stay those of this pass while the instances of one request are placed; only where hosts
    differ by less than one instance is its size taken for the span, as it would be after the first: alike hosts are
    filled evenly, not one by one.
    """

    values: FloatColumn
    step: Multiplier
    parts: Mapping[str, FloatColumn]

    def steps(self, indexes: Rows) -> list[float]:
        """Return the steps of these survivors."""
        return [self.step] * len(indexes) if isinstance(self.step, float) else self.step[indexes].tolist()


def score(weighted: Weighted, view: View, request: Request, rows: npt.NDArray[np.intp] | None) -> Scores:
    """Weigh ``rows`` (None: every row of the view); at least one row."""
    values: FloatColumn | None = None
    step: Multiplier = 0.0
    parts: dict[str, FloatColumn] = {}
    laps = _WATCH.laps()
    for weigher, given in weighted.multiplied(view):
        if laps is not None:
            laps.begin()
        raw = _figures(weigher, view, request, rows)
        if laps is not None:
            laps.lap(WEIGHER, weigher.name, view.size, count=weigher.among is None)
        change = weigher.step(request)
        if raw is None and not change:
            continue
        multiplier = given if rows is None or isinstance(given, float) else given.take(rows)
        span = 0.0
        if raw is not None:
            raw, span = _scaled(weigher, raw)
        if change:
            step = step + multiplier * (change / max(span, abs(change)))
        if raw is not None and span > 0:
            part = raw * (multiplier / span)
            parts[weigher.name] = part
            values = part if values is None else values + part
    if values is None:
        values = np.zeros(view.size if rows is None else len(rows))
    return Scores(values, step, parts)


def _scaled(weigher: Weigher, raw: FloatColumn) -> tuple[FloatColumn, float]:
    """Return how much each figure is above the least, and how much the most is."""
    least, most = raw.min(), raw.max()
    if weigher.floor is None:
        return raw - least, float(most - least)
    if least < weigher.floor:
        raw = np.maximum(raw, weigher.floor)
        most = max(most, weigher.floor)
    return (raw - weigher.floor if weigher.floor else raw), float(most - weigher.floor)


def _figures(weigher: Weigher, view: View, request: Request, rows: npt.NDArray[np.intp] | None) -> FloatColumn | None:
    if weigher.among is not None:
        return weigher.among(view, request, rows)
    figures = weigher.raw(view, request)
    return figures if figures is None or rows is None else figures.take(rows)
