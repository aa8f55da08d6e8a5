# SPDX-License-Identifier: Apache-2.0
"""In-memory store: reference implementation for the other backends, and test double."""

from scheduler_svc.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
