# SPDX-License-Identifier: Apache-2.0
"""Weigher multipliers: configured, inverted by a preset, overridden by aggregates."""

import dataclasses

import pytest
from oslo_config import cfg

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

SIZES = {"small": 4, "middle": 6, "large": 8}
NODES = {name: node({"VCPU": size, "MEMORY_MB": 1000 * size}) for name, size in SIZES.items()}
REQUEST = request({"VCPU": 1, "MEMORY_MB": 1000})


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    conf.set_override("enabled_filters", ["ResourcesFilter"], group="filter_scheduler")
    return conf


def best(conf, count=1, **metadata):
    """Return the first candidate of each instance; host "small" is in an aggregate with this metadata."""
    driver = drivers.filter_driver(conf)
    with table(driver.reads, **metadata).reading() as view:
        return [names[0] for names in driver.rank(view, REQUEST, count, 1).candidates]


def table(reads, **metadata):
    documents = {"a": {"hosts": ["small"], "metadata": metadata}}
    snapshot = dataclasses.replace(hosts.snapshot(NODES), states={"aggregate": documents})
    return HostTable.from_snapshot(snapshot, reads=reads)


def test_default_is_spreading_and_packing_is_configurable(conf):
    assert best(conf) == ["large"]
    conf.set_override("placement", "pack", group="filter_scheduler")
    assert best(conf) == ["small"]
    # The preset inverts the configured multiplier
    conf.set_override("free_share_weight_multiplier", -3.0, group="filter_scheduler")
    assert best(conf) == ["large"]


def test_aggregate_overrides_multipliers_for_its_hosts(conf):
    # An instance leaves the small host 1.5 above a floor of -6, and the large one the maximum of 1.75
    assert best(conf, free_share_weight_multiplier="5") == ["small"]
    assert best(conf, free_share_weight_multiplier="much") == ["large"]
    # The override also applies to the step per instance: scores of the small host are 1.11, 1.04 and 0.96
    assert best(conf, count=3, free_share_weight_multiplier="1.15") == ["small", "small", "large"]


def test_weigher_with_multiplier_0_counts_if_an_aggregate_overrides_it(conf):
    conf.set_override("free_share_weight_multiplier", 0.0, group="filter_scheduler")
    assert best(conf, free_share_weight_multiplier="1") == ["small"]
