# SPDX-License-Identifier: Apache-2.0
"""The scheduler's default driver, built as a worker without a configuration file builds it, and its parts."""

from collections.abc import Sequence

from oslo_config import cfg

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filter_scheduler, weighers
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.weighers import scoring

Filters = Sequence[Filter]


def default(subset: int = 1) -> FilterDriver:
    """Return the filter driver with its default filters, weighers and multipliers, and this host_subset_size."""
    conf = _conf()
    conf.set_override("host_subset_size", subset, group=filter_scheduler.GROUP)
    return FilterDriver.from_conf(conf)


def filters() -> Filters:
    """Return the filters of the default driver."""
    return pipeline.build(_conf().filter_scheduler.enabled_filters)


def weighted() -> scoring.Weighted:
    """Return the weighers of the default driver with their multipliers."""
    conf = _conf()
    configured = weighers.multipliers(conf)
    return scoring.build({name: configured[name] for name in conf.filter_scheduler.enabled_weighers})


def _conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    return conf
