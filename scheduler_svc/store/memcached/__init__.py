# SPDX-License-Identifier: Apache-2.0
"""Declared host state in memcached: documents are changed by compare-and-swap, and may be evicted."""

from scheduler_svc.store.memcached.states import MemcachedStates

__all__ = ["MemcachedStates"]
