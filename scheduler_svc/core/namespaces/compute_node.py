# SPDX-License-Identifier: Apache-2.0
"""Keys of the documents of compute nodes that another system reports; each makes an API-owned provider a host."""

NAMESPACE = "compute_node"  # one document per compute node, named like its provider
SERVICE_HOST = "service_host"
NODE = "node"
CELL = "cell"
HOST_KEYS = frozenset({"facts", "metrics", "host_ip"})  # keys that an agent would report for a host of its own
FREE_PCI_DEVICES = "free_pci_devices"
