# SPDX-License-Identifier: Apache-2.0
"""Lease document of the notification publisher; its owner records the published position in it."""

# internal to the store: absent from NamespaceRegistry, so not accessible over the bus
NAMESPACE = "gantt.notifications"
KEY = (NAMESPACE, "publisher")
