# SPDX-License-Identifier: Apache-2.0
"""The drivers of the benchmarks."""

from devstack.lab import default_driver
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.core import built_in


def test_default_driver_is_that_of_an_unconfigured_scheduler(conf):
    scheduler_conf.register_opts(conf)
    names = {entry.name for entry in default_driver.filters()}
    assert set(conf.filter_scheduler.enabled_filters) <= names < set(built_in.FILTER_NAMES)
    assert len(default_driver.weighted().pairs) <= len(conf.filter_scheduler.enabled_weighers)


def test_full_driver_reads_at_least_what_the_default_reads():
    default, full = default_driver.default().reads, default_driver.all_filters().reads
    assert full != default
    assert default == default_driver.default(subset=5).reads
