# SPDX-License-Identifier: Apache-2.0
"""The scheduler's default driver, built as a worker without a configuration file builds it."""

from oslo_config import cfg

from scheduler_svc.conf import filter_scheduler
from scheduler_svc.drivers.filter import FilterDriver


def default() -> FilterDriver:
    """Return the filter driver with its default filters, weighers and multipliers."""
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    filter_scheduler.register_opts(conf)
    return FilterDriver.from_conf(conf)
