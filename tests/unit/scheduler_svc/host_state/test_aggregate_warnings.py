# SPDX-License-Identifier: Apache-2.0
"""Warnings of invalid aggregate metadata."""

import dataclasses
import logging

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.host_state.aggregate_warnings import AggregateMetadataChecker
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

OPTIONS = ("ram_weight_multiplier", "cpu_weight_multiplier")
READS = {"aggregate": frozenset({"hosts", "metadata"})}


def table(**metadata_by_name):
    documents = {name: {"hosts": ["small"], "metadata": metadata} for name, metadata in metadata_by_name.items()}
    snapshot = dataclasses.replace(hosts.snapshot({"small": node()}), states={"aggregate": documents})
    return HostTable.from_snapshot(snapshot, reads=READS)


def test_invalid_aggregate_multiplier_is_logged_once(caplog):
    host_table = table(a={"ram_weight_multiplier": "much", "rack": "r1"})
    watch = AggregateMetadataChecker(lambda: host_table, OPTIONS)
    with caplog.at_level(logging.WARNING):
        watch.check()
        watch.check()
        assert [record.getMessage() for record in caplog.records] == [
            "Aggregate a: ram_weight_multiplier = 'much' is not a finite number; using the configured multiplier"
        ]
        # An error that was fixed and occurs again is logged again
        for position, metadata in ((101, {}), (102, {"ram_weight_multiplier": "much"})):
            host_table.apply(
                LogEntry(position, "state", {"aggregate": {"a": {"hosts": ["small"], "metadata": metadata}}})
            )
            watch.check()
    assert len(caplog.records) == 2


def test_each_invalid_value_of_each_aggregate_is_logged(caplog):
    host_table = table(
        a={"ram_weight_multiplier": "much", "cpu_weight_multiplier": "inf"},
        b={"ram_weight_multiplier": "1.5", "cpu_weight_multiplier": "x"},
        c={"disk_weight_multiplier": "not an option of this checker"},
    )
    with caplog.at_level(logging.WARNING):
        AggregateMetadataChecker(lambda: host_table, OPTIONS).check()
    complaints = [record.getMessage().partition(" is not")[0] for record in caplog.records]
    assert sorted(complaints) == [
        "Aggregate a: cpu_weight_multiplier = 'inf'",
        "Aggregate a: ram_weight_multiplier = 'much'",
        "Aggregate b: cpu_weight_multiplier = 'x'",
    ]


def test_table_of_a_reload_is_checked(caplog):
    tables = [table(a={"ram_weight_multiplier": "1"}), table(a={"ram_weight_multiplier": "much"})]
    checker = AggregateMetadataChecker(lambda: tables.pop(0), OPTIONS)
    with caplog.at_level(logging.WARNING):
        checker.check()
        assert not caplog.records
        checker.check()
    assert len(caplog.records) == 1
