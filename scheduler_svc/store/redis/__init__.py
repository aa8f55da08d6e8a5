# SPDX-License-Identifier: Apache-2.0
"""Redis backend: one Lua script per verb; all keys of a partition share one hash tag."""

from scheduler_svc.store.redis.store import RedisStore

__all__ = ["RedisStore"]
