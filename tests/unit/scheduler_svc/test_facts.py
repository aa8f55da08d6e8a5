# SPDX-License-Identifier: Apache-2.0
"""Facts and addresses of hosts: kept by document and by number, asked by column."""

import ipaddress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.table.addresses import AddressColumn
from scheduler_svc.table.facts import FactColumn
from tests.unit.scheduler_svc import hosts

KVM = {"hypervisor_type": "QEMU", "hypervisor_version": 8, "cpu_info": {"topology": {"cores": 4}}}
ADDRESSES = st.ip_addresses() | st.none()
NETWORKS = st.tuples(st.ip_addresses(v=4), st.integers(0, 32)) | st.tuples(st.ip_addresses(v=6), st.integers(0, 128))


def is_kvm(facts):
    return facts.get("hypervisor_type") == "QEMU"


def test_a_question_is_put_to_each_different_document_once():
    table = hosts.table({f"h{n}": hosts.node() | {"facts": KVM if n % 2 else {}} for n in range(6)})
    asked = []
    with table.reading() as view:
        for _ in range(2):
            column = view.facts.where(lambda facts: asked.append(facts) or is_kvm(facts), key="kvm")
        assert column.tolist() == [False, True] * 3
        assert view.facts.numbers("cpu_info.topology.cores")[1] == 4
        assert np.isnan(view.facts.numbers("cpu_info.topology.cores")[0])
        assert np.isnan(view.facts.numbers("hypervisor_type")[1])
        assert view.facts.of(1) == KVM
    assert len(asked) == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.fixed_dictionaries({"a": st.integers(0, 3)}))))
def test_the_last_facts_of_a_row_count(changes):
    column, expected = FactColumn(4), {row: {} for row in range(4)}
    for row, facts in changes:
        column.set_row(row, facts)
        expected[row] = facts or {}
        for wanted in range(4):
            found = column.where(4, lambda facts, wanted=wanted: facts.get("a") == wanted, key=wanted)
            assert found.tolist() == [expected[each].get("a") == wanted for each in range(4)]
        assert [column.of(each) for each in range(4)] == [expected[each] for each in range(4)]


@given(st.lists(ADDRESSES, min_size=1, max_size=5), NETWORKS)
def test_addresses_are_in_a_network_as_the_standard_library_says(addresses, network):
    network = ipaddress.ip_network(f"{network[0]}/{network[1]}", strict=False)
    column = AddressColumn(len(addresses))
    for row, address in enumerate(addresses):
        column.set_row(row, None if address is None else str(address))
    expected = [
        address is not None and address.version == network.version and address in network for address in addresses
    ]
    assert column.within(network, len(addresses)).tolist() == expected
    assert [column.of(row) for row in range(len(addresses))] == [
        None if address is None else str(address) for address in addresses
    ]


def test_a_replaced_host_has_its_new_facts_only():
    table = hosts.table(
        {"a": hosts.node() | {"facts": KVM, "host_ip": "10.0.0.1", "numa": [{"id": 0}], "kind": "volume"}}
    )
    table.load(hosts.snapshot({"a": hosts.node(), "b": hosts.node() | {"facts": KVM, "kind": "volume"}}))
    with table.reading() as view:
        rows = view.row("a"), view.row("b")
        assert [bool(view.facts.where(is_kvm)[row]) for row in rows] == [False, True]
        assert not view.within_network(ipaddress.ip_network("10.0.0.0/8")).any()
        assert [len(view.numa(row)) for row in rows] == [0, 0]
        assert [bool(view.of_kind("volume")[row]) for row in rows] == [False, True]


def test_what_rows_share_outlives_the_one_that_leaves_it():
    table = hosts.table({})
    for gone in ("", "b"):
        there = [name for name in "abc" if name != gone]
        table.load(hosts.snapshot({name: hosts.node() | {"facts": KVM} for name in there}))
        with table.reading() as view:
            found = view.facts.where(is_kvm, key="kvm")
            assert [name for name in "abc" if found[view.row(name)]] == there


@pytest.mark.parametrize("service", ["compute", "volume", "network"])
def test_hosts_of_another_kind_are_no_hosts_of_a_request(service):
    table = hosts.table({"a": hosts.node(), "pool": hosts.node() | {"kind": "volume"}})
    with table.reading() as view:
        found = view.of_kind(service)
        assert [name for name in ("a", "pool") if found[view.row(name)]] == {
            "compute": ["a"],
            "volume": ["pool"],
            "network": [],
        }[service]
