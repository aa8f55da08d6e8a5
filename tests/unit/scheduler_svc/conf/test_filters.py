# SPDX-License-Identifier: Apache-2.0
"""Options of filters."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filters
from scheduler_svc.core.matching.options import FilterOptions


def configure(conf, **options):
    scheduler_conf.register_opts(conf)
    for name, value in options.items():
        conf.set_override(name, value, group="filter_scheduler")
    return conf


def test_defaults_are_those_of_filters_without_configuration(conf):
    assert filters.load(configure(conf)) == FilterOptions()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("max_io_ops_per_host", 3, FilterOptions(max_io_ops_per_host=3)),
        ("max_instances_per_host", 9, FilterOptions(max_instances_per_host=9)),
        ("image_properties_default_architecture", "aarch64", FilterOptions(default_architecture="aarch64")),
        ("isolated_images", ["i1", "i2"], FilterOptions(isolated_images=frozenset({"i1", "i2"}))),
        ("isolated_hosts", ["h1", "h2/n"], FilterOptions(isolated_hosts=("h1", "h2/n"))),
        ("restrict_isolated_hosts_to_isolated_images", False, FilterOptions(restrict_isolated_hosts=False)),
        ("aggregate_image_properties_isolation_namespace", "os", FilterOptions(properties_namespace="os")),
        ("aggregate_image_properties_isolation_separator", ":", FilterOptions(properties_separator=":")),
    ],
)
def test_option_sets_its_field_and_no_other(conf, option, value, expected):
    assert filters.load(configure(conf, **{option: value})) == expected


def test_required_metrics_are_those_that_are_weighed(conf):
    configure(conf).set_override("weight_setting", ["heat=1", "cpu.percent=-1"], group="metrics")
    assert filters.load(conf) == FilterOptions(metrics=("heat", "cpu.percent"))


def test_invalid_isolated_host_is_a_bad_configuration(conf):
    with pytest.raises(errors.BadConfiguration, match=r"\[filter_scheduler\] isolated_hosts: "):
        filters.check(configure(conf, isolated_hosts=["h1", "a b"]))


@pytest.mark.parametrize(
    ("option", "value"), [("max_io_ops_per_host", -1), ("max_instances_per_host", 0), ("max_io_ops_per_host", "many")]
)
def test_value_outside_the_limits_is_refused(conf, option, value):
    with pytest.raises(ValueError):
        configure(conf, **{option: value})
