# SPDX-License-Identifier: Apache-2.0
"""Loading of external filters and weighers from entry points."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

from rpcapi import errors
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.plugins import entry_points, per_host
from scheduler_svc.core.plugins.guard import FailurePolicy, PluginGuard, describe_error, guard_filter, guard_weigher
from scheduler_svc.core.timings import FILTER, WEIGHER
from scheduler_svc.core.weighers.weigher import Weigher


def filters(points: Sequence[EntryPoint], configuration: object, policy: FailurePolicy) -> list[Filter]:
    """Load external filters, columnar ones first. Raises BadConfiguration if one cannot be loaded or is no filter."""
    loaded = [(point, _load(configuration, point, Filter)) for point in points]
    ordered = sorted(loaded, key=lambda pair: pair[1].per_host is not None)
    return [guard_filter(plugin, _guard(FILTER, point, policy)) for point, plugin in ordered]


def weighers(points: Sequence[EntryPoint], configuration: object, policy: FailurePolicy) -> list[Weigher]:
    """Load external weighers. Raises BadConfiguration if an entry point cannot be loaded or is not a weigher."""
    loaded = [(point, _load(configuration, point, Weigher)) for point in points]
    return [guard_weigher(plugin, _guard(WEIGHER, point, policy)) for point, plugin in loaded]


def _guard(kind: str, point: EntryPoint, policy: FailurePolicy) -> PluginGuard:
    return PluginGuard(kind, point.name, entry_points.source(point), policy)


def _load(configuration: object, point: EntryPoint, kind: type) -> Any:
    try:
        plugin = _adapt(kind, point.name, point.load())
        if callable(plugin):
            plugin = _adapt(kind, point.name, plugin(configuration))
        if not isinstance(plugin, kind):
            raise TypeError(f"{point.value} must be a {kind.__name__}, got {type(plugin).__name__}")
    except Exception as error:  # plugin code may raise anything
        raise errors.BadConfiguration(
            why=f"{point.group}: cannot load {point.name} of {entry_points.source(point)}: {describe_error(error)}"
        ) from error
    return plugin


def _adapt(kind: type, name: str, plugin: Any) -> Any:
    """Adapt a Nova-style plugin, or set the name of a filter or weigher. Return other objects unchanged."""
    if isinstance(plugin, kind):
        return replace(plugin, name=name)  # type: ignore[type-var]
    is_per_host, adapt = _PER_HOST_STYLES[kind]
    if is_per_host(plugin):
        return adapt(name, plugin() if isinstance(plugin, type) else plugin)
    return plugin


_PER_HOST_STYLES: Mapping[type, tuple[Callable[[Any], object], Callable[[str, Any], Any]]] = {
    Filter: (lambda plugin: hasattr(plugin, per_host.PASSES), per_host.adapt_filter),
    Weigher: (per_host.find_weigh_method, per_host.adapt_weigher),
}
