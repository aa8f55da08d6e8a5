# SPDX-License-Identifier: Apache-2.0
"""Host state in memcached: documents change by compare-and-swap and may be evicted."""

from scheduler_svc.store.memcached.states import MemcachedStates

__all__ = ["MemcachedStates"]
