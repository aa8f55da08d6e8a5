# SPDX-License-Identifier: Apache-2.0
"""Builders of the configured drivers, with their filters and weighers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg
from stevedore import driver as stevedore_driver
from stevedore import exception as stevedore_exception

from rpcapi import errors
from scheduler_svc.conf import enabled, metrics, plugins, scheduler, solver
from scheduler_svc.conf import filters as filters_conf
from scheduler_svc.conf import weighers as weighers_conf
from scheduler_svc.core import built_in
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.plugins import entry_points, loading
from scheduler_svc.core.plugins.guard import FailurePolicy
from scheduler_svc.core.weighers import scoring
from scheduler_svc.core.weighers.options import WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher
from scheduler_svc.metrics import count_failure
from scheduler_svc.nova import service_filter


def load(conf: cfg.ConfigOpts) -> dict[str, Driver]:
    """Build the drivers named by [scheduler] driver and drivers, in order. Raises BadConfiguration."""
    return {name: _build(conf, name) for name in scheduler.drivers(conf)}


def filter_driver(conf: cfg.ConfigOpts) -> FilterDriver:
    return _filter_driver(conf, packed=weighers_conf.packs(conf))


def _filter_driver(conf: cfg.ConfigOpts, *, packed: bool) -> FilterDriver:
    external = external_weighers(conf)
    multipliers = weighers_conf.multipliers(conf, packed=packed) | {
        weigher.name: plugins.multiplier(conf, weigher.name) for weigher in external
    }
    configured = {name: multipliers.get(name, 1.0) for name in enabled.weighers(conf)}
    options = WeigherOptions(metrics.load(conf), weighers_conf.image_properties(conf), conf.nova.enabled)
    weigher_set = scoring.build(configured, options, external)
    return FilterDriver(_filters(conf), weigher_set, conf.filter_scheduler.host_subset_size)


def chance_driver(conf: cfg.ConfigOpts) -> ChanceDriver:
    return ChanceDriver(_filters(conf))


def solver_driver(conf: cfg.ConfigOpts) -> SolverDriver:
    group = conf.solver
    limits = SolverLimits(
        packs=group.objective == solver.PACK,
        work=group.work_limit,
        limit_s=group.time_limit / 1000,
        hosts=group.hosts,
        max_pairs=group.max_pairs,
    )
    return SolverDriver(_filter_driver(conf, packed=limits.packs), limits)


def eligibility(conf: cfg.ConfigOpts) -> Sequence[Filter]:
    """Return the enabled filters that do not depend on free capacity. Raises BadConfiguration."""
    return pipeline.without_capacity(_filters(conf))


def external_filters(conf: cfg.ConfigOpts) -> list[Filter]:
    points = entry_points.enabled(enabled.filters(conf), entry_points.FILTERS, built_in.FILTER_NAMES)
    return loading.filters(points, conf, _failure_policy(conf))


def external_weighers(conf: cfg.ConfigOpts) -> list[Weigher]:
    points = entry_points.enabled(enabled.weighers(conf), entry_points.WEIGHERS, built_in.WEIGHER_NAMES)
    return loading.weighers(points, conf, _failure_policy(conf))


def _failure_policy(conf: cfg.ConfigOpts) -> FailurePolicy:
    return FailurePolicy(conf.filter_scheduler.on_plugin_error == plugins.FATAL, count_failure)


def _filters(conf: cfg.ConfigOpts) -> Sequence[Filter]:
    filters = pipeline.build(enabled.filters(conf), filters_conf.load(conf), external_filters(conf))
    # Nova's filter runs first, so that later filters count rejections only among hosts on which Nova can build.
    return [service_filter.FILTER, *filters, service_filter.WAITING] if conf.nova.enabled else filters


_BUILT_IN: Mapping[type[Driver], Callable[[cfg.ConfigOpts], Driver]] = {
    FilterDriver: filter_driver,
    ChanceDriver: chance_driver,
    SolverDriver: solver_driver,
}


def _build(conf: cfg.ConfigOpts, name: str) -> Driver:
    try:
        driver_class: Any = stevedore_driver.DriverManager(
            scheduler.DRIVERS, name, warn_on_missing_entrypoint=False
        ).driver
    except stevedore_exception.NoMatches as error:
        raise errors.BadConfiguration(
            why=f"[scheduler] driver: no entry point {name!r} is installed in {scheduler.DRIVERS!r}"
        ) from error
    build = _BUILT_IN.get(driver_class) or driver_class.from_conf
    return build(conf)
