# SPDX-License-Identifier: Apache-2.0
"""Loads the filters and weighers from outside that the configuration enables."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import filter_scheduler
from scheduler_svc.conf import plugins as conf_plugins
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.plugins import per_host
from scheduler_svc.plugins.figures import FILTER, WEIGHER
from scheduler_svc.plugins.guard import Guard, guarded_filter, guarded_weigher, sentence
from scheduler_svc.weighers.weigher import Weigher


def filters(conf: cfg.ConfigOpts) -> list[Filter]:
    """Return those that enabled_filters names, ready to run after what is built in: ones that look at hosts last.

    Raises BadConfiguration for one that cannot be loaded, or that gives no filter.
    """
    enabled = conf.filter_scheduler.enabled_filters
    points = conf_plugins.enabled(enabled, conf_plugins.FILTERS, filter_scheduler.FILTERS)
    made = [(point, _made(conf, point, Filter, _filter)) for point in points]
    ordered = sorted(made, key=lambda one: one[1].among is not None)
    return [guarded_filter(each, _guard(conf, FILTER, point)) for point, each in ordered]


def weighers(conf: cfg.ConfigOpts) -> list[Weigher]:
    """Return those that enabled_weighers names; raises BadConfiguration as above."""
    enabled = conf.filter_scheduler.enabled_weighers
    points = conf_plugins.enabled(enabled, conf_plugins.WEIGHERS, filter_scheduler.WEIGHERS)
    made = [(point, _made(conf, point, Weigher, _weigher)) for point in points]
    return [guarded_weigher(each, _guard(conf, WEIGHER, point)) for point, each in made]


def multipliers(conf: cfg.ConfigOpts, weighers: Sequence[Weigher]) -> dict[str, float]:
    """Return the weight of each by its name; raises BadConfiguration."""
    return {each.name: conf_plugins.multiplier(conf, each.name) for each in weighers}


def _guard(conf: cfg.ConfigOpts, kind: str, point: EntryPoint) -> Guard:
    fatal = conf.filter_scheduler.on_plugin_error == conf_plugins.FATAL
    return Guard(kind, point.name, conf_plugins.source(point), fatal)


def _made(conf: cfg.ConfigOpts, point: EntryPoint, kind: type, read: Callable[[str, Any], Any]) -> Any:
    """Load an entry point: what is wanted itself, or a callable that is given the configuration and returns it."""
    try:
        found = read(point.name, point.load())
        if callable(found):
            found = read(point.name, found(conf))
        if not isinstance(found, kind):
            raise TypeError(f"{point.value} gives a {type(found).__name__}, which is no {kind.__name__}")
    except Exception as error:  # what somebody else wrote may raise anything
        raise errors.BadConfiguration(
            why=f"{point.group}: {point.name}, of {conf_plugins.source(point)}, cannot be loaded: {sentence(error)}"
        ) from error
    return found


def _filter(name: str, found: Any) -> Any:
    if isinstance(found, Filter):
        return replace(found, name=name)  # by which it is enabled
    if hasattr(found, per_host.PASSES):
        return per_host.adapted_filter(name, found() if isinstance(found, type) else found)
    return found


def _weigher(name: str, found: Any) -> Any:
    if isinstance(found, Weigher):
        return replace(found, name=name)
    if per_host.weighs(found):
        return per_host.adapted_weigher(name, found() if isinstance(found, type) else found)
    return found
