# SPDX-License-Identifier: Apache-2.0
"""The scheduling policy that a configuration describes."""

import pytest

from rpcapi import errors
from scheduler_svc.composition import policy
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.drivers.solver.driver import SolverDriver
from scheduler_svc.core.prefilters import pipeline
from tests.support.scheduler.hosts import request
from tests.support.scheduler.workers import configure


def test_policy_has_the_configured_driver_filters_and_prefilters(conf):
    configure(conf).set_override("driver", "chance", group="scheduler")
    conf.set_override("enable_isolated_aggregate_filtering", True, group="scheduler")
    conf.set_override("enabled_filters", ["ComputeFilter", "ResourcesFilter"], group="filter_scheduler")
    loaded = policy.load(conf)
    assert isinstance(loaded.driver, ChanceDriver) and loaded.driver_name(request()) == "chance"
    assert "isolate_aggregates" in [prefilter.name for prefilter in loaded.prefilters]
    assert {host_filter.name for host_filter in loaded.driver.filters} >= {"ComputeFilter", "ResourcesFilter"}


def test_request_is_ranked_by_the_driver_that_it_names(conf):
    configure(conf).set_override("drivers", ["chance", "solver"], group="scheduler")
    loaded = policy.load(conf)
    requests = [request(driver=name) for name in (None, "filter", "chance", "solver")]
    assert [loaded.driver_name(named) for named in requests] == ["filter", "filter", "chance", "solver"]
    classes = [FilterDriver, FilterDriver, ChanceDriver, SolverDriver]
    assert [type(loaded.driver_for(named)) for named in requests] == classes
    with pytest.raises(errors.UnknownDriver, match="allowed: filter, chance, solver"):
        loaded.driver_for(request(driver="astrology"))


def test_default_policy_has_no_optional_prefilters(conf):
    loaded = policy.load(configure(conf))
    assert [prefilter.name for prefilter in loaded.prefilters] == [prefilter.name for prefilter in pipeline.build()]


def test_setting_without_effect_is_refused(conf):
    configure(conf).set_override("weight_setting", ["heat=1"], group="metrics")
    conf.set_override("enabled_weighers", ["MetricsWeigher"], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="MetricsFilter"):
        policy.load(conf)
