# SPDX-License-Identifier: Apache-2.0
"""Options of group [quota]."""

import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.conf import quota
from rpcapi import errors


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    conductor_conf.register_opts(conf)
    return conf


def test_only_recorded_instances_are_limited_by_default(options: cfg.ConfigOpts) -> None:
    options.set_override("project_limits", ["p recorded_instances=-1"], group="quota")
    limits = quota.load(options)
    assert limits.of_project("q") == {"recorded_instances": 4_000_000}
    assert limits.of_project("p") == {}


def test_limits_of_a_project_replace_those_of_the_same_name(options: cfg.ConfigOpts) -> None:
    options.set_override("limits", ["instances=10", "VCPU=20", "recorded_instances=30"], group="quota")
    options.set_override("project_limits", ["p VCPU=-1, CUSTOM_GPU=2", "q instances=0"], group="quota")
    limits = quota.load(options)
    assert limits.of_project("p") == {"instances": 10, "CUSTOM_GPU": 2, "recorded_instances": 30}
    assert limits.of_project("q") == {"instances": 0, "VCPU": 20, "recorded_instances": 30}
    assert limits.of_project("r") == {"instances": 10, "VCPU": 20, "recorded_instances": 30}


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("limits", ["VCPUS=1"], "Unknown resource class"),
        ("limits", ["VCPU=many"], "invalid literal"),
        ("limits", ["VCPU=-2"], "a limit is -1"),
        ("limits", ["VCPU"], "must be key=value"),
        ("limits", ["VCPU=1", "VCPU=2"], "each key once"),
        ("project_limits", ["p"], "must be PROJECT NAME=LIMIT"),
        ("project_limits", ["p VCPU=1", "p VCPU=2"], "each project once"),
        ("project_limits", ["p instances=-5"], "project_limits of p: instances=-5"),
    ],
)
def test_malformed_limit_is_refused(options: cfg.ConfigOpts, option: str, value: list[str], why: str) -> None:
    options.set_override(option, value, group="quota")
    with pytest.raises(errors.BadConfiguration, match=why):
        quota.load(options)
