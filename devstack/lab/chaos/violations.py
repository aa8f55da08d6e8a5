# SPDX-License-Identifier: Apache-2.0
"""Violations that the checker reports, by kind."""

from dataclasses import dataclass
from enum import StrEnum


class ViolationKind(StrEnum):
    LOST = "lost"  # an acknowledged boot or delete did not happen, or was undone
    UNEXPLAINED = "error without a reason"
    UNSETTLED = "a change that does not end"
    DIVERGED = "record differs from what runs"
    UNCLAIMED = "guest without a confirmed claim"
    DOUBLY_RUNNING = "doubly running"
    DOUBLY_CLAIMED = "two live claims of a consumer"
    STOPPED = "guest stopped under a confirmed claim"
    OVERSOLD = "oversold"
    WRONG_SUMS = "sums differ from the claims"
    LEAKED = "leaked after its lease"
    DOUBLE_END = "double end"
    GROUP = "server group's policy broken"
    ILLEGAL = "illegal transition of a claim"


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """Broken promise or invariant; ``subject`` is a provider or the uuid of an instance, migration or group."""

    kind: ViolationKind
    subject: str
    evidence: str
