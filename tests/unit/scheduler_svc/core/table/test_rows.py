# SPDX-License-Identifier: Apache-2.0
"""Rows of hosts: reused after a load only, and filled with what is known of their name."""

from dataclasses import replace

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.columns import FIRST_ROWS
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import child_provider, node, provider

READS = {"aggregate": frozenset({"hosts", "metadata"}), "rack": frozenset({"watts"})}


def test_row_of_a_removed_host_is_kept_until_the_next_load():
    table = hosts.table({"a": node(), "b": node()})
    table.apply(LogEntry(101, "gone", ["a"]))
    table.apply(LogEntry(102, "provider", {"c": provider("c", node())}))
    assert table.partitions[0].rows == {"a": 0, "b": 1, "c": 2}
    assert table.present[:3].tolist() == [False, True, True]
    table.apply(LogEntry(103, "provider", {"a": provider("a", node())}))
    assert table.partitions[0].rows["a"] == 0


def test_rows_of_hosts_that_a_snapshot_does_not_have_are_reused():
    rich = node({"VCPU": 9}, ["CUSTOM_A"], "az1") | {"host_ip": "10.0.0.1", "numa": [{"cpus": 4}]}
    states = {"aggregate": {"x": {"hosts": ["a/1", "b/1"]}}, "rack": {"a/1": {"watts": 7}}}
    first = replace(hosts.snapshot({"a/1": rich, "b/1": rich, "c/1": node()}), states=states)
    table = HostTable(reads=READS)
    table.load(first)
    empty = hosts.snapshot({"c/1": node()})
    table.load(empty)
    assert (table.names, table.partitions[0].rows) == (["", "", "c/1"], {"c/1": 2})
    second = {f"d/{number}": node({"MEMORY_MB": 4}) for number in range(4)}
    for number, name in enumerate(second):
        table.apply(LogEntry(101 + number, "provider", {name: provider(name, second[name])}))
    assert sorted(table.partitions[0].rows.values()) == [0, 1, 2, 3, 4]
    fresh = HostTable.from_snapshot(empty, reads=READS)
    for number, name in enumerate(second):
        fresh.apply(LogEntry(101 + number, "provider", {name: provider(name, second[name])}))
    assert hosts.describe(table) == hosts.describe(fresh)
    with table.reading() as view:
        assert view.match_names(["a/1", "b/1", "a", "b", ""]).tolist() == [False] * 5
        assert [view.zone(row) for row in range(5)] == [None] * 5
        assert not view.aggregates.members(["x"]).any()
    assert not table.numa


def test_row_is_reused_by_another_partition():
    table = HostTable(["p", "q"])
    table.load(hosts.snapshot({"a": node({"VCPU": 1})}), 0)
    table.load(hosts.snapshot({}), 0)
    table.load(hosts.snapshot({"b": node({"VCPU": 2})}), 1)
    with table.reading() as view:
        assert (view.row("b", 1), view.in_partition("p").tolist()) == (0, [False])
        assert view.hosts.capacity("VCPU").tolist() == [2]


def test_provider_of_which_only_the_usage_is_known_has_a_row_that_is_no_host():
    table = hosts.table({})
    table.apply(LogEntry(101, "used", {"a": {"VCPU": 3}}))
    assert (table.hosts, table.partitions[0].rows) == (0, {"a": 0})
    table.apply(LogEntry(102, "provider", {"a": provider("a", node({"VCPU": 8}))}))
    with table.reading() as view:
        assert view.hosts.free("VCPU").tolist() == [5]


def test_new_host_has_the_state_that_arrived_before_it():
    table = HostTable(reads=READS)
    table.apply(LogEntry(1, "alive", {"a": True}))
    table.apply(LogEntry(2, "service", {"a": {"enabled": False}}))
    table.apply(LogEntry(3, "state", {"aggregate": {"x": {"hosts": ["a"]}}, "rack": {"a/1": {"watts": 7}}}))
    table.apply(LogEntry(4, "provider", {"a/1": provider("a/1", node())}))
    with table.reading() as view:
        assert (view.services.alive.tolist(), view.services.enabled.tolist()) == ([True], [False])
        assert view.aggregates.of_row(0) == {"x"}
        assert view.state("rack", "watts").tolist() == [7]


def test_host_that_was_a_child_provider_has_the_sums_of_its_claims():
    child = {"id": "a/x", "host": "a", **child_provider("a", "a", {"VCPU": 4})}
    table = hosts.table({"a": node()})
    table.apply(LogEntry(101, "provider", {"a/x": child}))
    table.apply(LogEntry(102, "used", {"a/x": {"VCPU": 3}}))
    table.apply(LogEntry(103, "provider", {"a/x": provider("a/x", node({"VCPU": 4}))}))
    with table.reading() as view:
        assert view.hosts.free("VCPU")[view.row("a/x")] == 1


def test_rows_keep_their_values_when_the_table_grows():
    table = hosts.table({"first": node({"VCPU": 5}, ["CUSTOM_A"], "az1") | {"kind": "volume", "host_ip": "10.0.0.1"}})
    many = {f"h{number}": provider(f"h{number}", node()) for number in range(2 * FIRST_ROWS)}
    table.apply(LogEntry(101, "provider", many))
    described = hosts.describe(table)["rows"]["first"]
    assert (described["VCPU"][0], described["traits"], described["zone"]) == (5, {"CUSTOM_A"}, "az1")
    with table.reading() as view:
        assert view.of_kind("volume").sum() == 1
        assert view.address(0) == "10.0.0.1"
        assert view.zone(1) is None


def test_host_moving_between_partitions_has_a_row_in_each():
    table = HostTable(["p", "q"])
    table.load(hosts.snapshot({"a": node({"VCPU": 1})}), 0)
    table.load(hosts.snapshot({"a": node({"VCPU": 2})}), 1)
    with table.reading() as view:
        assert [view.row("a", number) for number in (0, 1)] == [0, 1]
        assert view.hosts.capacity("VCPU").tolist() == [1, 2]
        assert view.match_names(["a"]).tolist() == [True, True]
