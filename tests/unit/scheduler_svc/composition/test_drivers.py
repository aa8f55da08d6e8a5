# SPDX-License-Identifier: Apache-2.0
"""Drivers are built from the configuration, those from outside by their own class method."""

from types import SimpleNamespace

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.nova import service_filter


def test_driver_from_outside_builds_itself_from_the_configuration(conf, monkeypatch):
    class OutsideDriver(FilterDriver):
        @classmethod
        def from_conf(cls, conf):
            built_in = drivers.filter_driver(conf)
            return cls(built_in.filters, built_in.weigher_set, subset=7)

    def find(group, name, **_options):
        return SimpleNamespace(driver={"outside": OutsideDriver, "filter": FilterDriver}[name])

    monkeypatch.setattr(drivers.stevedore_driver, "DriverManager", find)
    scheduler_conf.register_opts(conf)
    conf.set_override("driver", "outside", group="scheduler")
    conf.set_override("drivers", ["filter"], group="scheduler")
    loaded = drivers.load(conf)
    assert (type(loaded["outside"]), loaded["outside"].subset) == (OutsideDriver, 7)
    assert (type(loaded["filter"]), loaded["filter"].subset) == (FilterDriver, 1)


@pytest.mark.parametrize("enabled", [False, True])
def test_filter_of_novas_services_comes_first_and_last_if_nova_is_enabled(conf, enabled):
    scheduler_conf.register_opts(conf)
    conf.set_override("enabled", enabled, group="nova")
    for filters in (drivers.filter_driver(conf).filters, drivers.eligibility(conf)):
        assert [host_filter.name for host_filter in filters].count(service_filter.NAME) == 2 * enabled
        assert (filters[0].name == filters[-1].name == service_filter.NAME) is enabled


def test_drivers_are_loaded_by_name(conf):
    scheduler_conf.register_opts(conf)
    assert isinstance(drivers.load(conf)["filter"], FilterDriver)
    conf.set_override("driver", "chance", group="scheduler")
    assert isinstance(drivers.load(conf)["chance"], ChanceDriver)
    conf.set_override("driver", "astrology", group="scheduler")
    with pytest.raises(errors.BadConfiguration, match="no entry point 'astrology'"):
        drivers.load(conf)


@pytest.mark.parametrize("option", ["enabled_filters", "enabled_weighers"])
def test_unknown_names_in_the_options_are_refused(conf, option):
    scheduler_conf.register_opts(conf)
    conf.set_override(option, ["Nonsense"], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="Nonsense"):
        drivers.load(conf)
