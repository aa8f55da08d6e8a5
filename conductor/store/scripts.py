# SPDX-License-Identifier: Apache-2.0
"""Lua verbs of the conductors' store."""

from conductor.store.keys import KEYS
from rpcapi.redis_failover.scripts import script_loader

load = script_loader("conductor.store", KEYS)
