# SPDX-License-Identifier: Apache-2.0
"""Options of the filter driver: names of filters and weighers."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filter_scheduler


def configure(conf, driver="filter", **options):
    scheduler_conf.register_opts(conf)
    conf.set_override("driver", driver, group="scheduler")
    for name, value in options.items():
        conf.set_override(name, value, group="filter_scheduler")
    return conf


def test_all_built_in_names_are_allowed(conf):
    names = {"enabled_filters": filter_scheduler.FILTERS, "enabled_weighers": filter_scheduler.WEIGHERS}
    filter_scheduler.check(configure(conf, **names))


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("enabled_filters", "enabled_filters: unknown filter Bogus, Nonsense; allowed: .*ComputeFilter, "),
        ("enabled_weighers", "enabled_weighers: unknown weigher Bogus, Nonsense; allowed: "),
    ],
)
def test_unknown_names_are_refused_with_the_allowed_ones(conf, option, why):
    with pytest.raises(errors.BadConfiguration, match=why):
        filter_scheduler.check(configure(conf, **{option: ["Nonsense", "Bogus"]}))


@pytest.mark.parametrize(("driver", "is_checked"), [("filter", True), ("solver", True), ("chance", False)])
def test_weighers_are_checked_for_drivers_that_use_them(conf, driver, is_checked):
    configure(conf, driver, enabled_weighers=["WeigherOfAnotherDriver"])
    if is_checked:
        with pytest.raises(errors.BadConfiguration, match="WeigherOfAnotherDriver"):
            filter_scheduler.check(conf)
    else:
        filter_scheduler.check(conf)


@pytest.mark.parametrize("size", [0, 1001])
def test_host_subset_outside_its_limits_is_refused(conf, size):
    with pytest.raises(ValueError):
        configure(conf, host_subset_size=size)
