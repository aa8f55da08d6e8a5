# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers in Nova's style, which are shown one host at a time."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.plugins.host_state import READS, HostState
from scheduler_svc.plugins.spec import Spec
from scheduler_svc.reads import Reads, union
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column, FloatColumn, Rows
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher

PASSES = "host_passes"
WEIGHS = ("weigh", "_weigh_object")  # gantt's name for it, and Nova's


def weighs(made: Any) -> str | None:
    """Return the name of the method that weighs a host, None where there is none."""
    return next((name for name in WEIGHS if callable(getattr(made, name, None))), None)


def adapted_filter(name: str, made: Any) -> Filter:
    """Return the filter that asks ``made.host_passes(host_state, spec)`` of each host that is left."""
    reads = _reads(made)
    reason = str(getattr(made, "reason", name))

    def among(view: View, request: Request, left: Column) -> Iterable[Sieve]:
        spec = Spec(request)
        passes = np.zeros(view.size, np.bool_)
        for row in np.flatnonzero(left).tolist():
            passes[row] = _asked(made.host_passes, HostState(view, row, reads), spec, (bool, np.bool_), "true or false")
        yield Sieve(reason, passes)

    return Filter(name, lambda view, request: among(view, request, view.there), reads, among)


def adapted_weigher(name: str, made: Any) -> Weigher:
    """Return the weigher that asks ``made.weigh(host_state, spec)`` of each host that passed the filters.

    What one more instance changes is not known, so that the instances of one request are weighed alike.
    """
    reads = _reads(made)
    weigh = getattr(made, str(weighs(made)))

    def among(view: View, request: Request, rows: Rows | None) -> FloatColumn:
        spec = Spec(request)
        wanted = range(view.size) if rows is None else rows.tolist()
        kinds = (int, float, np.integer, np.floating)
        figures = (_asked(weigh, HostState(view, row, reads), spec, kinds, "a number") for row in wanted)
        return np.fromiter(figures, np.float64, len(wanted))

    return Weigher(name, lambda view, request: among(view, request, None), lambda request: 0.0, reads, among)


def _asked(
    question: Callable[[HostState, Spec], Any], host: HostState, spec: Spec, kinds: tuple[type, ...], what: str
) -> Any:
    try:
        answer = question(host, spec)
    except Exception as error:
        error.add_note(f"at host {host.name}")
        raise
    if not isinstance(answer, kinds):
        raise TypeError(f"it must answer {what}, not {str(answer)[:60]!r} (at host {host.name})")
    return answer


def _reads(made: Any) -> Reads:
    """Return what the plugin may look at: what any may, and what its attribute ``reads`` names."""
    more: Mapping[str, Iterable[str]] = getattr(made, "reads", {})
    return union([READS, {namespace: frozenset(keys) for namespace, keys in more.items()}])
