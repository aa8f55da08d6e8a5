# SPDX-License-Identifier: Apache-2.0
"""Host state columns of the table: documents of rows as numbers, texts and lists."""

import dataclasses

import numpy as np
import pytest

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.state_columns import MAX_FAMILY_COLUMNS
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

NODES = {"a/1": node(metrics={"cpu.percent": 30.0, "heat": 5}), "a/2": node(), "b": node()}
READS = {
    "compute": frozenset({"metrics.cpu.percent", "traits"}),
    "rack": frozenset({"watts", "power"}),
    "aggregate": frozenset({"hosts"}),
}


def put(table, position, namespace, documents, number=0):
    table.apply(LogEntry(position, "state", {namespace: documents}), number)


def column(table, namespace, key):
    with table.reading() as view:
        return [None if np.isnan(value) else value for value in view.state(namespace, key)]


@pytest.fixture
def table():
    return hosts.table(NODES, reads=READS)


def test_metrics_in_reads_have_columns(table):
    assert column(table, "compute", "metrics.cpu.percent") == [30, None, None]
    table.apply(LogEntry(101, "provider", {"a/2": hosts.provider("a/2", node(metrics={"cpu.percent": 7, "x": 1}))}))
    table.apply(LogEntry(102, "provider", {"a/1": hosts.provider("a/1", node())}))
    assert column(table, "compute", "metrics.cpu.percent") == [None, 7, None]


def test_metric_family_has_a_column_per_reported_metric():
    family = {"compute": frozenset({"metrics.image.os="})}
    table = hosts.table({"a": node(metrics={"image.os=linux": 3, "image.disk=raw": 1}), "b": node()}, reads=family)
    assert column(table, "compute", "metrics.image.os=linux") == [3, None]
    assert column(table, "compute", "metrics.image.os=plan9") == [None, None]
    with pytest.raises(LookupError):
        column(table, "compute", "metrics.image.disk=raw")
    table.apply(LogEntry(101, "provider", {"b": hosts.provider("b", node(metrics={"image.os=bsd": 2}))}))
    table.load(hosts.snapshot({"b": node(metrics={"image.os=bsd": 4}), "c": node(metrics={"image.os=hurd": 1})}))
    assert column(table, "compute", "metrics.image.os=bsd") == [None, 4]
    assert column(table, "compute", "metrics.image.os=hurd") == [1, None], "in the row of the removed host"


def test_metric_family_columns_are_limited():
    metrics = {f"image.os={number}": number for number in range(MAX_FAMILY_COLUMNS + 50)}
    table = hosts.table({"a": node(metrics=metrics)}, reads={"compute": frozenset({"metrics.image.os="})})
    stored = [column(table, "compute", f"metrics.{name}") != [None] for name in metrics]
    assert sum(stored) == MAX_FAMILY_COLUMNS


def test_node_document_overrides_service_host_document(table):
    put(table, 101, "rack", {"a": {"watts": 100, "power": "red"}, "b": {"watts": True, "power": 5}})
    assert column(table, "rack", "watts") == [100, 100, 1]
    put(table, 102, "rack", {"a/2": {"power": "blue"}})
    assert column(table, "rack", "watts") == [100, None, 1]
    with table.reading() as view:
        assert view.state_is("rack", "power", "red").tolist() == [True, False, False]
        assert view.state_is("rack", "power", "blue").tolist() == [False, True, False]
        assert not view.state_is("rack", "power", "5").any()
        assert not view.state_is("rack", "power", "green").any()
    put(table, 103, "rack", {"a/2": None})
    assert column(table, "rack", "watts") == [100, 100, 1]
    put(table, 104, "rack", {"a": None})
    assert column(table, "rack", "watts") == [None, None, 1]


def test_document_applies_to_host_that_reports_later(table):
    put(table, 101, "rack", {"late": {"watts": 9}})
    table.apply(LogEntry(102, "provider", {"late/1": hosts.provider("late/1", node())}))
    assert column(table, "rack", "watts") == [None, None, None, 9]


def test_columns_grow_with_the_table(table):
    put(table, 101, "rack", {"a": {"watts": 3}})
    many = {f"h{number}": hosts.provider(f"h{number}", node()) for number in range(200)}
    table.apply(LogEntry(102, "provider", many))
    assert column(table, "rack", "watts") == [3, 3, None, *[None] * 200]


def test_older_entry_is_ignored(table):
    put(table, 105, "rack", {"a": None})
    put(table, 103, "rack", {"a": {"watts": 1}})
    assert column(table, "rack", "watts") == [None, None, None]


def test_keys_outside_reads_are_not_stored(table):
    put(table, 101, "network", {"a": {"physnets": ["x"]}})
    put(table, 102, "rack", {"a": {"watts": 1, "colour": "red"}})
    put(table, 103, "aggregate", {"one": {"hosts": ["a"], "metadata": {"k": "v"}}})
    with table.reading() as view:
        assert dict(view.documents("aggregate")) == {"one": {"hosts": ["a"]}}
        assert dict(view.documents("rack")) == {"a": {"watts": 1}}
        for read in (
            lambda: view.state("rack", "colour"),
            lambda: view.state_is("network", "physnets", "x"),
            lambda: view.documents("network"),
            lambda: view.state("compute", "metrics.heat"),
        ):
            with pytest.raises(LookupError, match="list it in the reads"):
                read()


def snapshot(states, nodes=NODES, position=200):
    return dataclasses.replace(hosts.snapshot(nodes), states=states, position=position)


def test_reloaded_table_equals_a_new_table_of_the_snapshot(table):
    put(table, 101, "rack", {"a": {"watts": 1, "power": "old"}, "gone": {"watts": 4}})
    states = {"rack": {"a": {"power": "new"}, "a/2": {"power": "old", "watts": 2}}, "aggregate": {"x": {"hosts": []}}}
    table.load(snapshot(states, {"a/2": node(metrics={"cpu.percent": 1}), "c": node()}))
    alone = type(table).from_snapshot(
        snapshot(states, {"a/2": node(metrics={"cpu.percent": 1}), "c": node()}), reads=READS
    )
    assert hosts.describe(table) == hosts.describe(alone)
    with table.reading() as view:
        assert view.row("a/1") is None
    table.apply(LogEntry(201, "provider", {"a/1": hosts.provider("a/1", node())}))
    with table.reading() as view:
        row = view.row("a/1")
        assert np.isnan(view.state("compute", "metrics.cpu.percent")[row]), "a removed host has no values"
        assert view.state_is("rack", "power", "new")[row], "the document applies to a host that returns"


def test_added_reads_apply_from_the_next_load(table):
    table.add_reads({"network": frozenset({"mtu"}), "rack": frozenset({"colour"})})
    assert column(table, "network", "mtu") == [None, None, None]
    table.load(snapshot({"network": {"b": {"mtu": 9000}}, "rack": {"a": {"colour": "red", "watts": 1}}}))
    assert column(table, "network", "mtu") == [None, None, 9000]
    assert column(table, "rack", "watts") == [1, 1, None]
    with table.reading() as view:
        assert view.state_is("rack", "colour", "red").tolist() == [True, True, False]


def test_documents_of_partitions_are_separate():
    table = hosts.HostTable(["p", "q"], READS)
    table.load(snapshot({"rack": {"a": {"watts": 1}}}, {"a": node()}), 0)
    table.load(snapshot({"rack": {"b": {"watts": 2}, "a": {"watts": 3}}}, {"b": node()}), 1)
    assert column(table, "rack", "watts") == [1, 2]
    put(table, 300, "rack", {"a": None}, 1)
    assert column(table, "rack", "watts") == [1, 2]
    with table.reading() as view:
        assert dict(view.documents("rack")) == {"a": {"watts": 1}, "b": {"watts": 2}}


def test_document_of_another_partition_applies_to_its_host():
    table = hosts.HostTable(["p", "q"], READS)
    table.load(snapshot({}, {"a/1": node(), "b": node()}), 0)
    put(table, 201, "rack", {"moves": {"watts": 5}, "a": {"watts": 1}})
    table.load(snapshot({"rack": {"a/1": {"watts": 7}}}, {"moves": node()}), 1)
    assert column(table, "rack", "watts") == [7, None, 5], "documents of another partition apply to loaded hosts"
    table.apply(LogEntry(201, "provider", {"late": hosts.provider("late", node())}), 1)
    put(table, 202, "rack", {"late": {"watts": 9}, "moves": {"watts": 6}})
    assert column(table, "rack", "watts") == [7, None, 6, 9], "and to hosts of log entries"
    put(table, 202, "rack", {"moves": {"watts": 8}}, 1)
    assert column(table, "rack", "watts") == [7, None, 8, 9], "the host's own partition has precedence"
    put(table, 203, "rack", {"moves": None}, 1)
    assert column(table, "rack", "watts") == [7, None, 6, 9]


def test_reloaded_partition_removes_its_former_documents_from_other_partitions():
    table = hosts.HostTable(["p", "q"], READS)
    table.load(snapshot({"rack": {"a": {"watts": 1}, "stays": {"watts": 2}}}, {"x": node()}), 0)
    table.load(snapshot({}, {"a/1": node(), "stays": node()}), 1)
    assert column(table, "rack", "watts") == [None, 1, 2]
    table.load(snapshot({"rack": {"stays": {"watts": 3}}}, {"x": node()}), 0)
    assert column(table, "rack", "watts") == [None, None, 3]
