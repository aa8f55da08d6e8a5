# SPDX-License-Identifier: Apache-2.0
"""Store verbs, as functions of a partition's state."""

from scheduler_svc.store.verbs import (
    allocating,
    audit,
    collecting,
    decisions,
    ending,
    fencing,
    importing,
    moves,
    pinning,
    prepare,
    providing,
    queries,
    removal,
    reshaping,
    states,
)

__all__ = [
    "allocating",
    "audit",
    "collecting",
    "decisions",
    "ending",
    "fencing",
    "importing",
    "moves",
    "pinning",
    "prepare",
    "providing",
    "queries",
    "removal",
    "reshaping",
    "states",
]
