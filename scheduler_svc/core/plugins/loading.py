# SPDX-License-Identifier: Apache-2.0
"""Loads the external filters and weighers that the configuration enables."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import filter_scheduler
from scheduler_svc.conf import plugins as conf_plugins
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.plugins import per_host
from scheduler_svc.core.plugins.guard import PluginGuard, describe_error, guard_filter, guard_weigher
from scheduler_svc.core.timings import FILTER, WEIGHER
from scheduler_svc.core.weighers.weigher import Weigher


def filters(conf: cfg.ConfigOpts) -> list[Filter]:
    """Return the external filters in enabled_filters: columnar ones first, then per-host ones.

    Raises BadConfiguration if one cannot be loaded or is not a filter.
    """
    enabled = conf.filter_scheduler.enabled_filters
    points = conf_plugins.enabled(enabled, conf_plugins.FILTERS, filter_scheduler.FILTERS)
    loaded = [(point, _load(conf, point, Filter, _to_filter)) for point in points]
    ordered = sorted(loaded, key=lambda pair: pair[1].per_host is not None)
    return [guard_filter(plugin, _guard(conf, FILTER, point)) for point, plugin in ordered]


def weighers(conf: cfg.ConfigOpts) -> list[Weigher]:
    """Return the external weighers in enabled_weighers; raises BadConfiguration as above."""
    enabled = conf.filter_scheduler.enabled_weighers
    points = conf_plugins.enabled(enabled, conf_plugins.WEIGHERS, filter_scheduler.WEIGHERS)
    loaded = [(point, _load(conf, point, Weigher, _to_weigher)) for point in points]
    return [guard_weigher(plugin, _guard(conf, WEIGHER, point)) for point, plugin in loaded]


def multipliers(conf: cfg.ConfigOpts, weighers: Sequence[Weigher]) -> dict[str, float]:
    """Return the multiplier of each weigher by name; raises BadConfiguration."""
    return {weigher.name: conf_plugins.multiplier(conf, weigher.name) for weigher in weighers}


def _guard(conf: cfg.ConfigOpts, kind: str, point: EntryPoint) -> PluginGuard:
    fatal = conf.filter_scheduler.on_plugin_error == conf_plugins.FATAL
    return PluginGuard(kind, point.name, conf_plugins.source(point), fatal)


def _load(conf: cfg.ConfigOpts, point: EntryPoint, kind: type, adapt: Callable[[str, Any], Any]) -> Any:
    """Return the plugin of an entry point: the loaded object, or its result when called with the configuration."""
    try:
        plugin = adapt(point.name, point.load())
        if callable(plugin):
            plugin = adapt(point.name, plugin(conf))
        if not isinstance(plugin, kind):
            raise TypeError(f"{point.value} must be a {kind.__name__}, got {type(plugin).__name__}")
    except Exception as error:  # plugin code may raise anything
        raise errors.BadConfiguration(
            why=f"{point.group}: cannot load {point.name} of {conf_plugins.source(point)}: {describe_error(error)}"
        ) from error
    return plugin


def _to_filter(name: str, plugin: Any) -> Any:
    if isinstance(plugin, Filter):
        return replace(plugin, name=name)  # the name by which it is enabled
    if hasattr(plugin, per_host.PASSES):
        return per_host.adapt_filter(name, plugin() if isinstance(plugin, type) else plugin)
    return plugin


def _to_weigher(name: str, plugin: Any) -> Any:
    if isinstance(plugin, Weigher):
        return replace(plugin, name=name)
    if per_host.find_weigh_method(plugin):
        return per_host.adapt_weigher(name, plugin() if isinstance(plugin, type) else plugin)
    return plugin
