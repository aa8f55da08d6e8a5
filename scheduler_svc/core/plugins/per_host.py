# SPDX-License-Identifier: Apache-2.0
"""Adapters for Nova-style filters and weighers, which examine one host per call."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.plugins.host_state import READS, PluginHostState, PluginRequestSpec
from scheduler_svc.core.reads import Reads, union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

PASSES = "host_passes"
WEIGHS = ("weigh", "_weigh_object")  # method names of gantt and Nova


def find_weigh_method(plugin: Any) -> str | None:
    return next((name for name in WEIGHS if callable(getattr(plugin, name, None))), None)


def adapt_filter(name: str, plugin: Any) -> Filter:
    """Return a filter that calls ``plugin.host_passes(host_state, spec)`` for each remaining host."""
    reads = _reads(plugin)
    reason = str(getattr(plugin, "reason", name))

    def per_host(view: View, request: SchedulingRequest, passed: Column) -> Iterable[HostPredicate]:
        spec = PluginRequestSpec(request)
        passes = np.zeros(view.size, np.bool_)
        for row in np.flatnonzero(passed).tolist():
            passes[row] = _call_plugin(
                plugin.host_passes, PluginHostState(view, row, reads), spec, (bool, np.bool_), "true or false"
            )
        yield HostPredicate(reason, passes)

    return Filter(name, lambda view, request: per_host(view, request, view.present), reads, per_host)


def adapt_weigher(name: str, plugin: Any) -> Weigher:
    """Return a weigher that calls ``plugin.weigh(host_state, spec)`` for each passing host. Its ``step`` is 0."""
    reads = _reads(plugin)
    weigh = getattr(plugin, str(find_weigh_method(plugin)))

    def per_host(view: View, request: SchedulingRequest, rows: Rows | None) -> FloatColumn:
        spec = PluginRequestSpec(request)
        row_numbers = range(view.size) if rows is None else rows.tolist()
        kinds = (int, float, np.integer, np.floating)
        values = (
            _call_plugin(weigh, PluginHostState(view, row, reads), spec, kinds, "a number") for row in row_numbers
        )
        return np.fromiter(values, np.float64, len(row_numbers))

    return Weigher(name, lambda view, request: per_host(view, request, None), lambda request: 0.0, reads, per_host)


def _call_plugin(
    function: Callable[[PluginHostState, PluginRequestSpec], Any],
    host: PluginHostState,
    spec: PluginRequestSpec,
    kinds: tuple[type, ...],
    what: str,
) -> Any:
    try:
        answer = function(host, spec)
    except Exception as error:
        error.add_note(f"at host {host.name}")
        raise
    if not isinstance(answer, kinds):
        raise TypeError(f"the plugin must return {what}, got {str(answer)[:60]!r} (at host {host.name})")
    return answer


def _reads(plugin: Any) -> Reads:
    plugin_reads: Mapping[str, Iterable[str]] = getattr(plugin, "reads", {})
    return union([READS, {namespace: frozenset(keys) for namespace, keys in plugin_reads.items()}])
