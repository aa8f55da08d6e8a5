# SPDX-License-Identifier: Apache-2.0
"""The rules that the model has, each with the sentence of the documentation that it comes from.

A test may leave one out, to show that this is found. MISSING are those that the code does not have yet: without one, a
promise is broken.
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple


class Rule(NamedTuple):
    """A rule: the page in docs, and the sentence there."""

    page: str
    sentence: str


_CLAIMS = "claims.md"
_FAILURES = "failures.md"
_MOVES = "adr/0340-claims-keep-their-identity.md"

RULES = {
    "older attempts have ended": Rule(_CLAIMS, "An attempt below an ended one cannot be prepared any more"),
    "ended attempts are not prepared": Rule(_CLAIMS, "so that no delayed message revives it"),
    "a confirmed claim belongs to its host": Rule(_CLAIMS, "If the old one is confirmed nothing changes"),
    "an unknown claim gets a tombstone": Rule(_CLAIMS, "of an unknown claim write a tombstone"),
    "no claims before the audit": Rule(_CLAIMS, "No host accepts a claim until its agent has audited"),
    "unaudited claims do not expire": Rule(
        _CLAIMS, "A prepared claim on a host that has not audited yet neither expires"
    ),
    "unaudited claims are not aborted": Rule(_CLAIMS, "nor can it be aborted, replaced or confirmed"),
    "no claim is confirmed before the audit": Rule(_CLAIMS, "Its confirmation may have been lost, or its end"),
    "unknown attempts wait for audits": Rule(
        _CLAIMS, "An attempt that the store does not know is not prepared while any host might run it"
    ),
    "an audit aborts unconfirmed claims": Rule(_CLAIMS, "Prepared claims that the host has not confirmed are aborted"),
    "audits restore roles": Rule(_CLAIMS, "then the earlier one is its source, and both are restored"),
    "a later attempt does not end its source": Rule(_CLAIMS, "unless it is the destination of a move"),
    "no audit ends a reported claim": Rule(_CLAIMS, "No audit ends a claim that its host has reported in this epoch"),
    "unverified claims close their consumer": Rule(
        _CLAIMS, "no other attempt of the instance is prepared or confirmed"
    ),
    "a move ends once no destination has a claim": Rule(_CLAIMS, "source --> only: end_moves, once no destination has"),
    "an ended migration never begins again": Rule(_MOVES, "An ended migration never begins again"),
    "a build does not end the source of its move": Rule(
        _MOVES, "A later attempt no longer proves that a source has ended"
    ),
    "agents ignore late messages about moves": Rule(_MOVES, "and ignore lower numbers"),
    "the source stops first": Rule(_MOVES, "build only when it has reported that"),
    "an old stop is no answer": Rule(_MOVES, "with the number of the message that gave it"),
    "a late build starts nothing": Rule(
        _FAILURES, "a late build or delete of an older attempt changes nothing of a newer one"
    ),
    "agents audit before they act": Rule(_FAILURES, "it audits before it confirms, starts or reports anything"),
    "isolated agents start nothing": Rule(_FAILURES, "for each single guest immediately before the start"),
    "a doubtful deletion ends all claims": Rule(
        _FAILURES, "guests and claims at both ends of the move end before the record is DELETED"
    ),
    "settling adopts unknown moves": Rule(_FAILURES, "the move is rebuilt from the claims and the agents' journals"),
}

MISSING = {
    "a terminate of a destination spares its source": (
        "compute_agent/attempts/builder.py: after a forgotten resize on one host, the terminate of its destination "
        "ends the running source, whose agent never heard of the move"
    ),
    "an unconfirmed report ends no claim": (
        "store/verbs/audit.py, _reassert: a host that has only received the build of a later attempt ends the claim of "
        "the guest, where the store forgot the begin of the move and has recorded its end since"
    ),
    "a doubtful live migration reads its claims": (
        "conductor/saga/copy_guests.py: a live migration whose last steps the conductors' store forgot gives up in "
        "PREPARE_COPY, and terminates the only copy"
    ),
    "records in ERROR are compared": (
        "conductor/reconciliation.py: ERROR with the claim kept stays over a running guest whose agent has reported it"
    ),
    "only a move that begins may have returned": (
        "conductor/saga/move_guests.py: confirming a move whose begin the store forgot drops the destination that runs"
    ),
}
_left_out: set[str] = set(MISSING)


def holds(rule: str) -> bool:
    """Return whether the model keeps a rule."""
    return rule not in _left_out


@contextlib.contextmanager
def leave_out(*rules: str) -> Iterator[None]:
    """Leave more rules out inside the block."""
    with _only_without(*_left_out, *rules):
        yield


@contextlib.contextmanager
def keep_missing() -> Iterator[None]:
    """Keep the rules that the code does not have inside the block."""
    with _only_without(*(_left_out - MISSING.keys())):
        yield


@contextlib.contextmanager
def _only_without(*rules: str) -> Iterator[None]:
    before = set(_left_out)
    _left_out.clear()
    _left_out.update(rules)
    try:
        yield
    finally:
        _left_out.clear()
        _left_out.update(before)
