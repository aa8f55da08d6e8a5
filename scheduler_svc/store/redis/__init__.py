# SPDX-License-Identifier: Apache-2.0
"""The store in Redis: one Lua script per verb, all keys of a partition under one hash tag."""

from scheduler_svc.store.redis.store import RedisStore

__all__ = ["RedisStore"]
