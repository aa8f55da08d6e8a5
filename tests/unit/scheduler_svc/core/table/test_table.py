# SPDX-License-Identifier: Apache-2.0
"""The host table: snapshots and log entries."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import EPOCH, node, provider

NODES = {"a/1": node(traits=["HW_CPU_X86_AVX2"], zone="az1"), "a/2": node(zone="az2"), "b": node()}


def entry(position, kind, payload):
    return LogEntry(position, kind, payload)


def test_snapshot_fills_the_columns():
    table = hosts.table(NODES, used={"a/2": {"VCPU": 3}})
    assert (table.hosts, table.partitions[0].position, table.partitions[0].epoch) == (3, 100, EPOCH)
    with table.reading() as view:
        assert [view.name(row) for row in range(view.size)] == ["a/1", "a/2", "b"]
        assert view.hosts.free("VCPU").tolist() == [8, 5, 8]
        assert view.hosts.free("CUSTOM_NONE").tolist() == [0, 0, 0]
        assert view.in_zone("az1").tolist() == [True, False, False]
        assert view.in_zone("nowhere").tolist() == [False, False, False]
        assert view.hosts.has_all(["HW_CPU_X86_AVX2"]).tolist() == [True, False, False]
        assert view.match_names(["a", "b"]).tolist() == [True, True, True]
        assert view.match_names(["a/2", "unheard-of"]).tolist() == [False, True, False]
        assert view.services.alive.all() and view.services.enabled.all() and view.services.opened.all()


def test_entries_wait_until_the_view_is_released():
    table = hosts.table(NODES)
    applied = threading.Event()

    def apply():
        table.apply(entry(101, "used", {"b": {"VCPU": 8}}))
        applied.set()

    with table.reading() as view:
        writer = threading.Thread(target=apply)
        writer.start()
        assert not applied.wait(0.05)
        assert view.hosts.free("VCPU").tolist() == [8, 8, 8]
    writer.join(10)
    assert applied.is_set()
    with table.reading() as view:
        assert view.hosts.free("VCPU").tolist() == [8, 8, 0]


@pytest.mark.parametrize(
    ("kind", "payload", "column", "expected"),
    [
        ("used", {"a/1": {"VCPU": 8}}, lambda view: view.hosts.free("VCPU"), [0, 8, 8]),
        ("provider", {"b": provider("b", node({"VCPU": 2}))}, lambda view: view.hosts.free("VCPU"), [8, 8, 2]),
        ("gone", ["a/2"], lambda view: view.present, [True, False, True]),
        ("alive", {"a": False}, lambda view: view.services.alive, [False, False, True]),
        ("service", {"b": {"enabled": False}}, lambda view: view.services.enabled, [True, True, False]),
        ("service", {"b": {"enabled": True, "duplicate_ms": 7}}, lambda v: v.services.enabled, [True, True, False]),
        ("service", {"b": {"enabled": True, "refusal": "renamed"}}, lambda v: v.services.enabled, [True, True, False]),
        ("opened", {"a": EPOCH - 1}, lambda view: view.services.opened, [False, False, True]),
        ("epoch", EPOCH + 1, lambda view: view.services.opened, [False, False, False]),
    ],
)
def test_entry_of_every_kind_is_idempotent(kind, payload, column, expected):
    table = hosts.table(NODES)
    for _ in range(2):
        table.apply(entry(101, kind, payload))
        with table.reading() as view:
            assert column(view).tolist() == expected
            assert view.log_positions[0].position == 101


def test_older_entry_is_ignored():
    table = hosts.table(NODES)
    table.apply(entry(103, "used", {"b": {"VCPU": 5}}))
    table.apply(entry(102, "used", {"b": {"VCPU": 1}}))
    with table.reading() as view:
        assert view.hosts.free("VCPU").tolist() == [8, 8, 3]
        assert view.log_positions[0].position == 103


def test_usage_returned_by_a_claim_applies_before_its_log_entry():
    table = hosts.table(NODES)
    table.apply_used({"b": {"VCPU": 6}}, 105)
    table.apply(entry(101, "used", {"b": {"VCPU": 2}}))
    with table.reading() as view:
        assert view.hosts.free("VCPU").tolist() == [8, 8, 2]
        assert view.log_positions[0].position == 101  # entries of other claims may still be missing


def test_node_that_returns_has_the_usage_of_its_claims():
    table = hosts.table(NODES, used={"b": {"VCPU": 3}})
    table.apply(entry(101, "gone", ["b"]))
    table.apply(entry(102, "used", {"b": {"VCPU": 5}}))
    table.apply(entry(103, "provider", {"b": provider("b", node())}))
    with table.reading() as view:
        assert view.present.all()
        assert view.hosts.free("VCPU").tolist() == [8, 8, 3]


def test_child_provider_is_not_a_host():
    table = hosts.table(NODES)
    child = {**provider("b/numa0", node()), "root": "b", "parent": "b"}
    table.apply(entry(101, "provider", {"b/numa0": child}))
    assert table.hosts == 3


def test_table_grows_beyond_its_initial_size():
    table = HostTable()
    count = 200
    for number in range(count):
        name = f"h{number}"
        document = node({"VCPU": number + 1}, traits=[f"CUSTOM_T{number}"], zone=f"az{number % 3}")
        table.apply(entry(number + 1, "provider", {name: provider(name, document)}))
    assert table.hosts == count
    with table.reading() as view:
        assert view.hosts.free("VCPU").tolist() == list(range(1, count + 1))
        assert np.flatnonzero(view.hosts.has_all(["CUSTOM_T70"])).tolist() == [70]
        assert np.flatnonzero(view.hosts.has_any(["CUSTOM_T3", "CUSTOM_T130"])).tolist() == [3, 130]
        assert np.count_nonzero(view.in_zone("az1")) == len(range(1, count, 3))


def test_hosts_awaiting_an_audit_are_counted():
    table = hosts.table(NODES)
    assert table.host_counts(0).awaiting_audit == 0
    table.apply(entry(101, "epoch", EPOCH + 1))
    table.apply(entry(102, "opened", {"b": EPOCH + 1}))
    assert table.host_counts(0).awaiting_audit == 2
    table.apply(entry(103, "alive", {"a": False}))
    assert table.host_counts(0).awaiting_audit == 0


def test_partitions_are_found_by_node_and_service_host():
    table = hosts.table(NODES)
    assert [bool(table.find_partitions(name)) for name in ("a", "a/1", "b", "a/9", "c")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    table.apply(entry(101, "gone", ["b"]))
    assert not table.find_partitions("b")


def test_entry_of_unknown_kind_raises():
    with pytest.raises(ValueError, match="unknown kind 'aggregate'"):
        hosts.table(NODES).apply(entry(101, "aggregate", {}))


def api_provider(name, parent=None, root=None, **parts):
    document = {"host": "@api", "owner": "api", "kind": "provider", "parent": parent, "root": root or name, **parts}
    return provider(name, document)


def test_aggregates_of_provider_documents_are_joined_with_those_of_the_namespace():
    # given aggregates that documents of the Placement API's providers name, and one that names its members
    nodes = {**NODES, "@api/p": api_provider("@api/p", aggregates=["one", "two"])}
    nodes["@api/c"] = api_provider("@api/c", "b", "b", aggregates=["two"])
    states = {"aggregate": {"three": {"hosts": ["@api/p", "b"]}}}
    reads = {"aggregate": frozenset({"hosts"})}
    table = HostTable.from_snapshot(replace(hosts.snapshot(nodes), states=states), reads=reads)
    with table.reading() as view:
        row = table.partitions[0].rows["@api/p"]
        assert view.aggregates.of_row(row) == {"one", "two", "three"}
        assert view.aggregates.members(["one"]).tolist() == [name == "@api/p" for name in table.names]
        assert view.aggregates.of_row(table.partitions[0].rows["b"]) == {"three"}
        assert (view.services.alive[row], view.services.opened[row]) == (True, True)
    forest = table.partitions[0].forest
    assert forest.aggregates.of(forest.rows["@api/c"]) == {"two"}
    # when documents change, also to a provider's that is not its host's, and to none
    table.apply(entry(101, "provider", {"@api/p": api_provider("@api/p", aggregates=["four"])}))
    table.apply(entry(101, "provider", {"b": provider("b", {**node(), "aggregates": ["one"]})}))
    table.apply(entry(102, "provider", {"@api/c": api_provider("@api/c", "b", "b")}))
    table.apply(entry(99, "provider", {"@api/p": nodes["@api/p"]}))  # an older one
    with table.reading() as view:
        assert view.aggregates.of_row(row) == {"three", "four"}
        assert view.aggregates.of_row(table.partitions[0].rows["b"]) == {"one", "three"}
    assert forest.aggregates.of(forest.rows["@api/c"]) == set()
    # and when the partition is loaded again, then only what the snapshot has remains
    loaded = {**nodes, "b": node()}
    table.load(replace(hosts.snapshot(loaded), states=states, position=200))
    with table.reading() as view:
        assert view.aggregates.of_row(table.partitions[0].rows["@api/p"]) == {"one", "two", "three"}
        assert view.aggregates.of_row(table.partitions[0].rows["b"]) == {"three"}
    table.apply(entry(201, "gone", ["@api/p"]))
    assert table.aggregates.own_of("@api/p") == set()


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("a", ["a"]),
        ("A", ["a"]),
        ("A/1", ["a/1"]),
        ("Mixed", ["Mixed"]),  # an exact name means no other host
        ("mixed", ["mixed"]),
        ("MIXED", ["Mixed", "mixed"]),
        ("MIXED/N", ["Mixed/N"]),
        ("mixed/n", ["mixed/n"]),  # nodes differ by case, as in Nova
        ("A/9", ["A/9"]),
        ("nobody", ["nobody"]),
    ],
)
def test_hosts_are_found_in_any_case(name, spellings):
    table = hosts.table({"a/1": hosts.node(), "Mixed/N": hosts.node(), "mixed/m": hosts.node()})
    assert table.spellings(name) == spellings
