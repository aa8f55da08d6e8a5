# SPDX-License-Identifier: Apache-2.0
"""The document of the notification publisher's lease, in which an owner records the position that it published."""

NAMESPACE = "gantt.notifications"  # internal to the store: not in NamespaceRegistry, so not accessible over the bus
KEY = (NAMESPACE, "publisher")
