# SPDX-License-Identifier: Apache-2.0
"""Default driver of the scheduler and its parts, built like in a worker without a configuration file."""

from collections.abc import Mapping, Sequence

from oslo_config import cfg

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import enabled, weighers
from scheduler_svc.conf import filters as filters_conf
from scheduler_svc.core import built_in
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.weighers import scoring

Filters = Sequence[Filter]

ALL_FILTERS_OPTIONS: Mapping[str, object] = {
    "enabled_filters": list(built_in.FILTER_NAMES),
    "enabled_weighers": list(built_in.WEIGHER_NAMES),
    "balance_weight_multiplier": 4.0,
    "num_instances_weight_multiplier": -1.0,
    "image_props_weight_multiplier": 1.0,
    "image_props_weight_setting": ["os_type=1"],
    "isolated_hosts": [f"compute{number}" for number in range(5)],
}


def default(subset: int = 1) -> FilterDriver:
    """Return the filter driver with all defaults except host_subset_size."""
    return drivers.filter_driver(make_conf({weighers.GROUP: {"host_subset_size": subset}}))


def all_filters() -> FilterDriver:
    """Return the filter driver with every filter and weigher, configured so that each has work to do."""
    metrics = {"weight_setting": ["heat=-1"]}
    return drivers.filter_driver(make_conf({weighers.GROUP: ALL_FILTERS_OPTIONS, "metrics": metrics}))


def filters() -> Filters:
    conf = make_conf()
    return pipeline.build(enabled.filters(conf), filters_conf.load(conf))


def weighted() -> scoring.WeigherSet:
    conf = make_conf()
    configured = weighers.multipliers(conf, packed=weighers.packs(conf))
    return scoring.build({name: configured[name] for name in conf.filter_scheduler.enabled_weighers})


def make_conf(groups: Mapping[str, Mapping[str, object]] | None = None) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    for group, options in (groups or {}).items():
        for option, value in options.items():
            conf.set_override(option, value, group=group)
    return conf
