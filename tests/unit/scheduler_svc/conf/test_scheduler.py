# SPDX-License-Identifier: Apache-2.0
"""Options of group [scheduler]."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import scheduler


@pytest.fixture
def configured(conf):
    scheduler_conf.register_opts(conf)
    return conf


def test_default_driver_comes_first_and_no_driver_twice(configured):
    configured.set_override("driver", "chance", group="scheduler")
    configured.set_override("drivers", ["filter", "chance", "filter"], group="scheduler")
    assert scheduler.drivers(configured) == ["chance", "filter"]
    scheduler.check(configured)


@pytest.mark.parametrize(
    ("driver", "drivers", "option"), [("astrology", [], "driver"), ("filter", ["astrology"], "drivers")]
)
def test_error_for_a_driver_that_is_not_installed_names_the_option(configured, driver, drivers, option):
    configured.set_override("driver", driver, group="scheduler")
    configured.set_override("drivers", drivers, group="scheduler")
    with pytest.raises(errors.BadConfiguration, match=rf"\[scheduler\] {option}: no entry point 'astrology'"):
        scheduler.check(configured)


def test_an_unknown_driver_in_the_list_is_refused_at_start(configured):
    configured.set_override("drivers", ["astrology"], group="scheduler")
    with pytest.raises(errors.BadConfiguration, match="drivers: no entry point 'astrology'"):
        scheduler_conf.check(configured)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("host", "rack 1"),
        ("host", "a/b"),
        ("host", "a|b"),
        ("host", ""),
        ("workers", 0),
        ("drivers", ["fil ter"]),
        ("mode", "dry"),
        ("tries", 0),
        ("claim_ttl", 0.5),
        ("partitions", ["Cell 1"]),
        ("claims_partitions", ["Cell 1"]),
        ("report_interval", 0.1),
    ],
)
def test_value_outside_the_limits_is_refused(configured, option, value):
    with pytest.raises(ValueError):
        configured.set_override(option, value, group="scheduler")


def test_default_heartbeats_are_several_times_as_frequent_as_the_down_time(configured):
    assert 3 * configured.scheduler.report_interval <= configured.store.service_down_time
