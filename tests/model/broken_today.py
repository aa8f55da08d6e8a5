# SPDX-License-Identifier: Apache-2.0
"""Promises that the code breaks today, by plan and fault, with the length of the shortest trace; it may only shrink."""

from tests.model.promises import LAST_COPY, NEVER_RESTS, RUNS_TWICE, TWO_CLAIMS, WRONGLY_ENDED

_FORGOTTEN_MOVE = {LAST_COPY: 13, WRONGLY_ENDED: 15, NEVER_RESTS: 11}
_FORGOTTEN_COPY = {WRONGLY_ENDED: 12, LAST_COPY: 18, NEVER_RESTS: 11}
_DEAD_SOURCE = {LAST_COPY: 13}

BROKEN: dict[tuple[str, str], dict[str, int]] = {
    ("boot", "loss"): {NEVER_RESTS: 12},
    ("confirmed migration", "loss"): _FORGOTTEN_MOVE,
    ("reverted migration", "loss"): _FORGOTTEN_MOVE,
    ("deleted migration", "loss"): _FORGOTTEN_MOVE,
    ("resize on the same host", "loss"): {WRONGLY_ENDED: 8, LAST_COPY: 12, RUNS_TWICE: 22, NEVER_RESTS: 11},
    ("live migration", "loss"): _FORGOTTEN_COPY,
    ("live migration", "crash"): {NEVER_RESTS: 25},
    ("forced live migration", "loss"): _FORGOTTEN_COPY,
    ("forced live migration", "crash"): {NEVER_RESTS: 25},
    ("post-copy", "loss"): _FORGOTTEN_COPY,
    ("post-copy", "crash"): {LAST_COPY: 24, NEVER_RESTS: 23},
    ("post-copy", "failure"): {LAST_COPY: 23, NEVER_RESTS: 22},
    ("evacuation", "loss"): {NEVER_RESTS: 9},
    ("reverted migration, an outage", "loss"): _FORGOTTEN_MOVE,
    ("reverted migration, an outage", "late message"): _DEAD_SOURCE,
    ("reverted migration, an outage", "crash"): _DEAD_SOURCE,
    ("reverted migration, an outage", "failure"): _DEAD_SOURCE,
}

# Further promises that a loss and another fault break, by plan and that other fault.
BROKEN_BY_TWO: dict[tuple[str, str], tuple[str, ...]] = {
    ("confirmed migration", "loss"): (RUNS_TWICE, TWO_CLAIMS),
    ("reverted migration", "loss"): (RUNS_TWICE, TWO_CLAIMS),
}
