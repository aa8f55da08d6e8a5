# SPDX-License-Identifier: Apache-2.0
"""Documents of compute nodes that another system reports: the keys that the table, filters and weighers read.

They make an API-owned provider a host. The writer's package declares the namespace with its schema.
"""

NAMESPACE = "compute_node"  # has a document per compute node, named like its provider
SERVICE_HOST = "service_host"
NODE = "node"
CELL = "cell"
HOST_KEYS = frozenset({"facts", "metrics", "host_ip"})  # keys that an agent would report
FREE_PCI_DEVICES = "free_pci_devices"
