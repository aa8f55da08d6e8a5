# SPDX-License-Identifier: Apache-2.0
"""Declared host state in memcached: one document at a time by compare-and-swap, kept as long as there is room."""

from scheduler_svc.store.memcached.states import MemcachedStates

__all__ = ["MemcachedStates"]
