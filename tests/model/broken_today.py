# SPDX-License-Identifier: Apache-2.0
"""Promises that the code breaks today, by plan and fault, with the length of the shortest trace; it may only shrink."""

from tests.model.promises import NEVER_RESTS

BROKEN: dict[tuple[str, str], dict[str, int]] = {}

# Further promises that a loss and another fault break, by plan and that other fault.
BROKEN_BY_TWO: dict[tuple[str, str], tuple[str, ...]] = {
    ("confirmed migration", "loss"): (NEVER_RESTS,),
    ("reverted migration", "loss"): (NEVER_RESTS,),
    ("confirmed migration across partitions", "loss"): (NEVER_RESTS,),
}
