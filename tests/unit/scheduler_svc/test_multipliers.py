# SPDX-License-Identifier: Apache-2.0
"""Multipliers: configured, turned round by a preset, overridden for the hosts of aggregates."""

import dataclasses
import logging

import pytest
from oslo_config import cfg

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.aggregate_watch import AggregateMetadataChecker
from scheduler_svc.conf import weighers
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.store.records import LogEntry
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node, request

SIZES = {"small": 4, "middle": 6, "large": 8}
NODES = {name: node({"VCPU": size, "MEMORY_MB": 1000 * size}) for name, size in SIZES.items()}
ASKED = request({"VCPU": 1, "MEMORY_MB": 1000})


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    made([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(made)
    made.set_override("enabled_filters", ["ResourcesFilter"], group="filter_scheduler")
    return made


def best(conf, count=1, **metadata):
    """Return the leading host of each instance, where "small" is in an aggregate with this metadata."""
    driver = FilterDriver.from_conf(conf)
    with table(driver.reads, **metadata).reading() as view:
        return [names[0] for names in driver.rank(view, ASKED, count, 1).candidates]


def table(reads, **metadata):
    told = {"a": {"hosts": ["small"], "metadata": metadata}}
    snapshot = dataclasses.replace(hosts.snapshot(NODES), states={"aggregate": told})
    return HostTable.from_snapshot(snapshot, reads=reads)


def test_spreading_is_the_default_and_packing_a_choice(conf):
    assert best(conf) == ["large"]
    conf.set_override("placement", "pack", group="filter_scheduler")
    assert best(conf) == ["small"]
    # The preset turns round what is configured
    conf.set_override("ram_weight_multiplier", -3.0, group="filter_scheduler")
    assert best(conf) == ["large"]


def test_an_aggregate_has_multipliers_of_its_own_for_its_hosts(conf):
    # of the small host's own share, a half of the most, three times as much
    assert best(conf, ram_weight_multiplier="5") == ["small"]
    assert best(conf, ram_weight_multiplier="much") == ["large"]
    # and with every instance that it takes it loses three times as much
    assert best(conf, count=3, ram_weight_multiplier="2.5", cpu_weight_multiplier="2.5") == ["small", "large", "small"]


def test_a_weigher_that_is_configured_to_0_counts_where_an_aggregate_says_so(conf):
    conf.set_override("ram_weight_multiplier", 0.0, group="filter_scheduler")
    conf.set_override("cpu_weight_multiplier", 0.0, group="filter_scheduler")
    assert best(conf, ram_weight_multiplier="1") == ["small"]


@pytest.mark.parametrize("pair", ["os_distro", "=1", "os_distro=many", "os_distro=inf"])
def test_a_setting_of_image_properties_that_is_none_is_told(conf, pair):
    conf.set_override("image_props_weight_setting", ["os_type=1", pair], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="no property=weight"):
        weighers.check(conf)


def test_a_multiplier_that_is_no_finite_number_is_told(conf):
    conf.set_override("io_ops_weight_multiplier", float("nan"), group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="IoOpsWeigher is nan"):
        weighers.check(conf)


def test_metadata_that_is_not_understood_is_warned_of_once(caplog):
    made = table({"aggregate": frozenset({"hosts", "metadata"})}, ram_weight_multiplier="much", rack="r1")
    watch = AggregateMetadataChecker(lambda: made, weighers.AGGREGATE_OPTIONS)
    with caplog.at_level(logging.WARNING):
        watch.check()
        watch.check()
        assert [record.getMessage() for record in caplog.records] == [
            "Aggregate a: ram_weight_multiplier = 'much' is no finite number, its hosts have the configured one"
        ]
        # What was mended and is wrong again is told again
        for position, metadata in ((101, {}), (102, {"ram_weight_multiplier": "much"})):
            made.apply(LogEntry(position, "state", {"aggregate": {"a": {"hosts": ["small"], "metadata": metadata}}}))
            watch.check()
    assert len(caplog.records) == 2
