# SPDX-License-Identifier: Apache-2.0
"""Columns of host facts."""

import ipaddress

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.table.facts import FactColumn, FactView
from tests.support.scheduler import hosts

KVM = {"hypervisor_type": "QEMU", "hypervisor_version": 8, "cpu_info": {"topology": {"cores": 4}}}


def is_kvm(facts):
    return facts.get("hypervisor_type") == "QEMU"


def test_predicate_runs_once_per_distinct_document():
    table = hosts.table({f"h{n}": hosts.node() | {"facts": KVM if n % 2 else {}} for n in range(6)})
    calls = []
    with table.reading() as view:
        for _ in range(2):
            column = view.facts.where(lambda facts: calls.append(facts) or is_kvm(facts), key="kvm")
        assert column.tolist() == [False, True] * 3
        assert view.facts.numbers("cpu_info.topology.cores")[1] == 4
        assert np.isnan(view.facts.numbers("cpu_info.topology.cores")[0])
        assert np.isnan(view.facts.numbers("hypervisor_type")[1])
        assert view.facts.of(1) == KVM
    assert len(calls) == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.fixed_dictionaries({"a": st.integers(0, 3)}))))
def test_facts_are_the_last_set_ones(changes):
    column, expected = FactColumn(4), {row: {} for row in range(4)}
    for row, facts in changes:
        column.set_row(row, facts)
        expected[row] = facts or {}
        for value in range(4):
            mask = FactView(column, 4).where(lambda facts, value=value: facts.get("a") == value, key=value)
            assert mask.tolist() == [expected[row].get("a") == value for row in range(4)]
        assert [column.of(row) for row in range(4)] == [expected[row] for row in range(4)]


def test_reloaded_host_has_only_its_new_facts():
    table = hosts.table(
        {"a": hosts.node() | {"facts": KVM, "host_ip": "10.0.0.1", "numa": [{"id": 0}], "kind": "volume"}}
    )
    table.load(hosts.snapshot({"a": hosts.node(), "b": hosts.node() | {"facts": KVM, "kind": "volume"}}))
    with table.reading() as view:
        rows = view.row("a"), view.row("b")
        assert [bool(view.facts.where(is_kvm)[row]) for row in rows] == [False, True]
        assert not view.in_network(ipaddress.ip_network("10.0.0.0/8")).any()
        assert [len(view.numa_cells(row)) for row in rows] == [0, 0]
        assert [bool(view.of_kind("volume")[row]) for row in rows] == [False, True]


def test_shared_facts_remain_when_one_row_is_removed():
    table = hosts.table({})
    for removed in ("", "b"):
        present = [name for name in "abc" if name != removed]
        table.load(hosts.snapshot({name: hosts.node() | {"facts": KVM} for name in present}))
        with table.reading() as view:
            mask = view.facts.where(is_kvm, key="kvm")
            rows = {name: view.row(name) for name in "abc"}
            assert [name for name, row in rows.items() if row is not None and mask[row]] == present
