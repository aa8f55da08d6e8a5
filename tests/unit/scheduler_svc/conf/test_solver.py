# SPDX-License-Identifier: Apache-2.0
"""Options of driver 'solver', and its package."""

import importlib.util

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import solver


def test_solver_without_its_package_is_refused_with_the_install_command(conf, monkeypatch):
    scheduler_conf.register_opts(conf)
    conf.set_override("drivers", ["solver"], group="scheduler")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.BadConfiguration, match=r"pip install 'gantt\[solver\]'"):
        scheduler_conf.check(conf)
    with pytest.raises(errors.BadConfiguration, match="highspy"):
        drivers.load(conf)


@pytest.mark.parametrize("driver", ["filter", "solver"])
def test_package_is_needed_by_the_enabled_driver_only(conf, monkeypatch, driver):
    scheduler_conf.register_opts(conf)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    conf.set_override("driver", driver, group="scheduler")
    if driver == "filter":
        solver.check(conf)
    else:
        with pytest.raises(errors.BadConfiguration, match="highspy"):
            solver.check(conf)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("objective", "both"),
        ("work_limit", 0),
        ("time_limit", 0),
        ("hosts", 0),
        ("max_pairs", 0),
        ("window", -1),
        ("max_batch", 0),
    ],
)
def test_value_outside_the_limits_is_refused(conf, option, value):
    scheduler_conf.register_opts(conf)
    with pytest.raises(ValueError):
        conf.set_override(option, value, group="solver")


def test_requests_are_spread_and_not_delayed_by_default(conf):
    scheduler_conf.register_opts(conf)
    assert (conf.solver.objective, conf.solver.window) == (solver.SPREAD, 0)
