# SPDX-License-Identifier: Apache-2.0
"""Columns of host addresses."""

import ipaddress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.table.addresses import AddressColumn

ADDRESSES = st.ip_addresses() | st.none()
NETWORKS = st.tuples(st.ip_addresses(v=4), st.integers(0, 32)) | st.tuples(st.ip_addresses(v=6), st.integers(0, 128))


@given(st.lists(ADDRESSES, min_size=1, max_size=5), NETWORKS)
def test_network_membership_agrees_with_ipaddress(addresses, network):
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


def column_of(*addresses):
    column = AddressColumn(len(addresses))
    for row, address in enumerate(addresses):
        column.set_row(row, address)
    return column


@pytest.mark.parametrize(
    ("network", "inside"),
    [
        ("10.0.0.0/8", ["10.1.2.3"]),
        ("0.0.0.0/0", ["0.0.0.1", "10.1.2.3"]),
        ("::/0", ["::1", "2001:db8::1"]),
        ("2001:db8::/32", ["2001:db8::1"]),
        ("::/96", ["::1"]),  # not the IPv4 address with the same number
    ],
)
def test_networks_contain_addresses_of_their_own_version_only(network, inside):
    addresses = [None, "0.0.0.1", "10.1.2.3", "::1", "2001:db8::1"]
    mask = column_of(*addresses).within(ipaddress.ip_network(network), len(addresses))
    assert [address for address, is_inside in zip(addresses, mask, strict=True) if is_inside] == inside


def test_removed_address_is_in_no_network():
    column = column_of("10.0.0.1", "10.0.0.2", "10.0.0.3")
    column.set_row(0, None)
    column.clear(np.array([2]))
    assert [column.of(row) for row in range(3)] == [None, "10.0.0.2", None]
    assert column.within(ipaddress.ip_network("0.0.0.0/0"), 3).tolist() == [False, True, False]


def test_new_rows_have_no_address():
    column = column_of("10.0.0.1")
    column.grow(3)
    assert [column.of(row) for row in range(3)] == ["10.0.0.1", None, None]


def test_copied_rows_have_the_addresses_of_the_other_column():
    column = column_of("10.0.0.1", "10.0.0.2", "10.0.0.3")
    column.copy_from(np.array([2, 0]), column_of("2001:db8::1", None))
    assert [column.of(row) for row in range(3)] == [None, "10.0.0.2", "2001:db8::1"]


def test_invalid_address_is_refused():
    with pytest.raises(ValueError, match="rack1"):
        column_of("rack1")


def test_mask_has_the_rows_of_its_size_only():
    column = column_of("10.0.0.1", "10.0.0.2", None)
    assert column.within(ipaddress.ip_network("10.0.0.0/31"), 2).tolist() == [True, False]
