# SPDX-License-Identifier: Apache-2.0
"""The store in one process's memory: the model that the other backends are held to, and a double for tests."""

from scheduler_svc.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
