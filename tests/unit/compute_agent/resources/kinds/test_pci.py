# SPDX-License-Identifier: Apache-2.0
"""PCI devices and their virtual functions."""

import pytest

from compute_agent.resources.kinds.pci import PciKind
from rpcapi import errors
from tests.support.agent.machines import node

HEAD = "[compute]\nhosts = alpha\n[shape:x]\nvcpus = 8\nmemory_mb = 1024\n"
NIC = "[pci_device:nic]\nvendor_id = 8086\nproduct_id = 154d\n"


def pci_kind(devices, nic="", shape=""):
    loaded = node(f"{HEAD}{shape}pci_devices = {devices}\n{NIC}{nic}").shape.kinds
    (kind,) = (entry.kind for entry in loaded if isinstance(entry.kind, PciKind))
    return kind


def test_whole_device_is_assigned_by_its_own_address():
    assert pci_kind("nic:2").units == {
        "0000:01:00.0": ("0000:01:00.0",),
        "0000:02:00.0": ("0000:02:00.0",),
    }


def test_shared_device_keeps_its_physical_function_and_counts_eight_per_slot():
    (units,) = pci_kind("nic:1", "functions = 9\n").units.values()
    assert units == (*(f"0000:01:00.{number}" for number in range(1, 8)), "0000:01:01.0", "0000:01:01.1")


def test_class_is_that_of_vendor_and_product_unless_configured():
    (provider,) = pci_kind("nic:1").providers
    assert list(provider.inventories) == ["CUSTOM_PCI_8086_154D"]
    (provider,) = pci_kind("nic:1", "resource_class = SRIOV_NET_VF\n").providers
    assert list(provider.inventories) == ["SRIOV_NET_VF"]


def test_physical_network_is_a_valid_trait():
    (provider,) = pci_kind("nic:1", "physical_network = phys net-0\n").providers
    assert provider.traits == ("CUSTOM_PHYSNET_PHYS_NET_0",)


def test_only_nodes_with_cells_can_place_devices_by_socket():
    assert [provider.path for provider in pci_kind("nic:1").providers] == ["0000:01:00.0"]
    *_, root = pci_kind("nic:1@1", shape="numa_cells = 2\n").providers
    assert (root.path, root.traits) == ("", ("COMPUTE_SOCKET_PCI_NUMA_AFFINITY",))


def test_devices_of_a_node_are_limited_by_the_number_of_buses():
    assert list(pci_kind("nic:255").units)[-1] == "0000:ff:00.0"
    with pytest.raises(errors.BadConfiguration, match="at most 255 devices"):
        pci_kind("nic:256")


def test_device_without_product_is_rejected():
    text = f"{HEAD}pci_devices = nic:1\n[pci_device:nic]\nvendor_id = 8086\n"
    with pytest.raises(errors.BadConfiguration, match=r"\[pci_device:nic\] has no vendor_id or no product_id"):
        node(text)
