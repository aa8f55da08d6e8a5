# SPDX-License-Identifier: Apache-2.0
"""Tombstones: records of how attempts ended. Keep in sync with _partition.lua.

The end of a claim proves that all earlier attempts have ended, except the source of its move. A tombstone is the final
state, or "state:attempt" if it proves only that attempts before ``attempt`` have ended: for a destination that is the
attempt at its source, for an attempt without a claim 0.
"""

from collections.abc import Mapping

UNKNOWN_END = "unknown"  # end of an attempt aborted before it had a claim


def encode(attempt: int, state: str, proves_before: int) -> str:
    return state if proves_before == attempt else f"{state}:{proves_before}"


def state_of(text: str) -> str:
    return text.partition(":")[0]


def proves_end_of(ends: Mapping[int, str], attempt: int) -> bool:
    """Return whether a later attempt's tombstone in ``ends``, {attempt: tombstone}, proves that ``attempt`` ended."""
    return any(attempt < int(text.partition(":")[2] or number) for number, text in ends.items())
