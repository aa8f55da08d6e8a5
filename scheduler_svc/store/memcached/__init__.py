# SPDX-License-Identifier: Apache-2.0
"""Host state documents in memcached, changed by compare-and-swap; the server may evict them."""

from scheduler_svc.store.memcached.states import MemcachedStates

__all__ = ["MemcachedStates"]
