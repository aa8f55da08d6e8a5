# SPDX-License-Identifier: Apache-2.0
"""Promises that the code breaks today, by plan and fault, with the length of the shortest trace; it may only shrink."""

from tests.model.promises import LAST_COPY, NEVER_RESTS, RUNS_TWICE, TWO_CLAIMS, WRONGLY_ENDED

_FORGOTTEN_MOVE = {LAST_COPY: 14, WRONGLY_ENDED: 18, NEVER_RESTS: 11}
_FORGOTTEN_COPY = {LAST_COPY: 18, WRONGLY_ENDED: 16, NEVER_RESTS: 17}

BROKEN: dict[tuple[str, str], dict[str, int]] = {
    ("confirmed migration", "loss"): _FORGOTTEN_MOVE,
    ("reverted migration", "loss"): _FORGOTTEN_MOVE,
    ("deleted migration", "loss"): _FORGOTTEN_MOVE,
    ("resize on the same host", "loss"): {**_FORGOTTEN_MOVE, RUNS_TWICE: 22},
    ("live migration", "loss"): {**_FORGOTTEN_COPY, WRONGLY_ENDED: 15},
    ("forced live migration", "loss"): _FORGOTTEN_COPY,
    ("post-copy", "loss"): _FORGOTTEN_COPY,
    ("reverted migration, an outage", "loss"): _FORGOTTEN_MOVE,
}

# Further promises that a loss and another fault break, by plan and that other fault.
BROKEN_BY_TWO: dict[tuple[str, str], tuple[str, ...]] = {
    ("confirmed migration", "loss"): (RUNS_TWICE, TWO_CLAIMS),
    ("reverted migration", "loss"): (RUNS_TWICE, TWO_CLAIMS),
}
