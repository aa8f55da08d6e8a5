# SPDX-License-Identifier: Apache-2.0
"""Redis backend: atomic verbs as Lua scripts. All keys of a partition share one hash tag."""

from scheduler_svc.store.redis.store import RedisStore

__all__ = ["RedisStore"]
