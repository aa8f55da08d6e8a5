# SPDX-License-Identifier: Apache-2.0
"""The promises that simulations check, by number."""

from typing import Any

PROMISES = {
    1: "at most one guest of an instance runs",
    2: "no guest ends that nobody asked to end, and no last copy is removed",
    3: "after an audit what runs has a confirmed claim of at least its amounts, and no other claim contradicts it",
    4: "no record rests in a transient state, or in ERROR over a guest that runs",
}


class PromiseBroken(AssertionError):
    """Raised when one of PROMISES does not hold."""

    def __init__(self, number: int, evidence: Any) -> None:
        super().__init__(f"promise {number} is broken ({PROMISES[number]}): {evidence}")
        self.number = number


def require(number: int, holds: object, evidence: Any) -> None:
    """Raise PromiseBroken unless a promise holds."""
    if not holds:
        raise PromiseBroken(number, evidence)
