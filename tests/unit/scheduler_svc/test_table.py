# SPDX-License-Identifier: Apache-2.0
"""The host table: what a snapshot and log entries make of it."""

import threading

import numpy as np
import pytest

from rpcapi.model.inventory import Inventory
from scheduler_svc.store.records import LogEntry
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import EPOCH, node, provider

NODES = {"a/1": node(traits=["HW_CPU_X86_AVX2"], zone="az1"), "a/2": node(zone="az2"), "b": node()}


def entry(position, kind, payload):
    return LogEntry(position, kind, payload)


def test_a_snapshot_becomes_columns():
    table = hosts.table(NODES, used={"a/2": {"VCPU": 3}})
    assert (table.hosts, table.position, table.epoch) == (3, 100, EPOCH)
    with table.reading() as view:
        assert [view.name(row) for row in range(view.size)] == ["a/1", "a/2", "b"]
        assert view.free("VCPU").tolist() == [8, 5, 8]
        assert view.free("CUSTOM_NONE").tolist() == [0, 0, 0]
        assert view.in_zone("az1").tolist() == [True, False, False]
        assert view.in_zone("nowhere").tolist() == [False, False, False]
        assert view.has_all(["HW_CPU_X86_AVX2"]).tolist() == [True, False, False]
        assert view.match_names(["a", "b"]).tolist() == [True, True, True]
        assert view.match_names(["a/2", "unheard-of"]).tolist() == [False, True, False]
        assert view.alive.all() and view.enabled.all() and view.opened.all()


def test_a_view_cannot_be_written():
    table = hosts.table(NODES)
    with table.reading() as view, pytest.raises(ValueError, match="read-only"):
        view.free("VCPU")[0] = 5


def test_a_view_stands_still_until_it_is_let_go():
    table = hosts.table(NODES)
    applied = threading.Event()

    def apply():
        table.apply(entry(101, "used", {"b": {"VCPU": 8}}))
        applied.set()

    with table.reading() as view:
        writer = threading.Thread(target=apply)
        writer.start()
        assert not applied.wait(0.05)
        assert view.free("VCPU").tolist() == [8, 8, 8]
    writer.join(10)
    assert applied.is_set()
    with table.reading() as view:
        assert view.free("VCPU").tolist() == [8, 8, 0]


@pytest.mark.parametrize(
    ("kind", "payload", "column", "expected"),
    [
        ("used", {"a/1": {"VCPU": 8}}, lambda view: view.free("VCPU"), [0, 8, 8]),
        ("provider", {"b": provider("b", node({"VCPU": 2}))}, lambda view: view.free("VCPU"), [8, 8, 2]),
        ("gone", ["a/2"], lambda view: view.present, [True, False, True]),
        ("alive", {"a": False}, lambda view: view.alive, [False, False, True]),
        ("service", {"b": {"enabled": False}}, lambda view: view.enabled, [True, True, False]),
        ("opened", {"a": EPOCH - 1}, lambda view: view.opened, [False, False, True]),
        ("epoch", EPOCH + 1, lambda view: view.opened, [False, False, False]),
    ],
)
def test_each_kind_of_entry_changes_its_column_once(kind, payload, column, expected):
    table = hosts.table(NODES)
    for _ in range(2):
        table.apply(entry(101, kind, payload))
        with table.reading() as view:
            assert column(view).tolist() == expected
            assert view.log_position().position == 101


def test_an_older_entry_changes_nothing():
    table = hosts.table(NODES)
    table.apply(entry(103, "used", {"b": {"VCPU": 5}}))
    table.apply(entry(102, "used", {"b": {"VCPU": 1}}))
    with table.reading() as view:
        assert view.free("VCPU").tolist() == [8, 8, 3]
        assert view.log_position().position == 103


def test_what_a_claim_answered_is_known_before_the_log_brings_it():
    table = hosts.table(NODES)
    table.apply_used({"b": {"VCPU": 6}}, 105)
    table.apply(entry(101, "used", {"b": {"VCPU": 2}}))
    with table.reading() as view:
        assert view.free("VCPU").tolist() == [8, 8, 2]
        assert view.log_position().position == 101  # another claim's entry may still lie between


def test_a_node_that_returns_finds_the_use_of_the_claims_it_still_holds():
    table = hosts.table(NODES, used={"b": {"VCPU": 3}})
    table.apply(entry(101, "gone", ["b"]))
    table.apply(entry(102, "used", {"b": {"VCPU": 5}}))
    table.apply(entry(103, "provider", {"b": provider("b", node())}))
    with table.reading() as view:
        assert view.present.all()
        assert view.free("VCPU").tolist() == [8, 8, 3]


def test_a_provider_below_a_root_is_no_host():
    table = hosts.table(NODES)
    below = {**provider("b/numa0", node()), "root": "b", "parent": "b"}
    table.apply(entry(101, "provider", {"b/numa0": below}))
    assert table.hosts == 3


def test_the_table_grows_past_any_first_size():
    table = HostTable()
    wanted = 200
    for number in range(wanted):
        name = f"h{number}"
        told = node({"VCPU": number + 1}, traits=[f"CUSTOM_T{number}"], zone=f"az{number % 3}")
        table.apply(entry(number + 1, "provider", {name: provider(name, told)}))
    assert table.hosts == wanted
    with table.reading() as view:
        assert view.free("VCPU").tolist() == list(range(1, wanted + 1))
        assert np.flatnonzero(view.has_all(["CUSTOM_T70"])).tolist() == [70]
        assert np.flatnonzero(view.has_any(["CUSTOM_T3", "CUSTOM_T130"])).tolist() == [3, 130]
        assert np.count_nonzero(view.in_zone("az1")) == len(range(1, wanted, 3))


def test_unit_rules_are_only_there_while_some_row_has_one():
    table = hosts.table({"a": node({"VCPU": 8})})
    with table.reading() as view:
        assert view.rules("VCPU") is None
    table.apply(entry(101, "provider", {"a": provider("a", node({"VCPU": Inventory(8, step_size=2)}))}))
    with table.reading() as view:
        assert view.rules("VCPU").step_size.tolist() == [2]
    table.apply(entry(102, "provider", {"a": provider("a", node({"VCPU": 8}))}))
    with table.reading() as view:
        assert view.rules("VCPU") is None


def test_hosts_that_wait_for_an_audit_are_counted():
    table = hosts.table(NODES)
    assert table.host_counts(0).awaiting_audit == 0
    table.apply(entry(101, "epoch", EPOCH + 1))
    table.apply(entry(102, "opened", {"b": EPOCH + 1}))
    assert table.host_counts(0).awaiting_audit == 2
    table.apply(entry(103, "alive", {"a": False}))
    assert table.host_counts(0).awaiting_audit == 0


def test_names_are_known_as_node_and_as_service_host():
    table = hosts.table(NODES)
    assert [bool(table.find_partitions(name)) for name in ("a", "a/1", "b", "a/9", "c")] == [True, True, True, False, False]
    table.apply(entry(101, "gone", ["b"]))
    assert not table.find_partitions("b")


def test_an_entry_of_unknown_kind_is_not_passed_over():
    with pytest.raises(ValueError, match="unknown kind 'aggregate'"):
        hosts.table(NODES).apply(entry(101, "aggregate", {}))
