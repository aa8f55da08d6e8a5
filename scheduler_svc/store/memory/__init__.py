# SPDX-License-Identifier: Apache-2.0
"""The store in a process's memory: the reference for the other backends, and a test double."""

from scheduler_svc.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
