# SPDX-License-Identifier: Apache-2.0
"""The scheduler's default driver and its parts, built as by a scheduler worker without a configuration file."""

from collections.abc import Sequence

from oslo_config import cfg

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import filter_scheduler, weighers
from scheduler_svc.conf import filters as filters_conf
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.weighers import scoring

Filters = Sequence[Filter]

ALL_FILTERS_OPTIONS = {
    "enabled_filters": list(filter_scheduler.FILTERS),
    "enabled_weighers": list(filter_scheduler.WEIGHERS),
    "balance_weight_multiplier": 4.0,
    "num_instances_weight_multiplier": -1.0,
    "image_props_weight_multiplier": 1.0,
    "image_props_weight_setting": ["os_type=1"],
    "isolated_hosts": [f"compute{number}" for number in range(5)],
}


def default(subset: int = 1) -> FilterDriver:
    """Return the filter driver with default filters, weighers and multipliers, and ``subset`` as host_subset_size."""
    conf = _conf()
    conf.set_override("host_subset_size", subset, group=filter_scheduler.GROUP)
    return drivers.filter_driver(conf)


def all_filters() -> FilterDriver:
    """Return the filter driver with every filter and weigher, each configured so that it has work to do."""
    conf = _conf()
    for name, value in ALL_FILTERS_OPTIONS.items():
        conf.set_override(name, value, group=filter_scheduler.GROUP)
    conf.set_override("weight_setting", ["heat=-1"], group="metrics")
    return drivers.filter_driver(conf)


def filters() -> Filters:
    """Return the filters of the default driver."""
    conf = _conf()
    return pipeline.build(filters_conf.enabled(conf), filters_conf.load(conf))


def weighted() -> scoring.WeigherSet:
    """Return the weighers of the default driver with their multipliers."""
    conf = _conf()
    configured = weighers.multipliers(conf, packed=weighers.packs(conf))
    return scoring.build({name: configured[name] for name in conf.filter_scheduler.enabled_weighers})


def _conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    return conf
