# SPDX-License-Identifier: Apache-2.0
"""The rules that the model has, each with the sentence of the documentation that it comes from.

A test may leave one out, to show that this is found.
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
_RETURNS = "adr/0341-a-return-keeps-the-destination.md"
_COPIES = "adr/0282-return-only-what-never-ran.md"
_LOSSES = "adr/0342-a-store-that-forgot-ends-no-guest.md"
_NAMES = "adr/0343-a-destination-names-its-source.md"
_CROSSING = "moves.md"
_MOVES = "adr/0340-claims-keep-their-identity.md"

RULES = {
    "older attempts have ended": Rule(_CLAIMS, "An attempt below an ended one can no longer be prepared"),
    "ended attempts are not prepared": Rule(_CLAIMS, "so no delayed message revives it"),
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
    "audits restore roles": Rule(_CLAIMS, "then both are restored, whichever host audits first"),
    "a later attempt does not end its source": Rule(_CLAIMS, "unless it names the earlier one as its source"),
    "a destination names its move": Rule(_CLAIMS, "the migration and the attempt at the source"),
    "a prepare contradicts no known move": Rule(_CLAIMS, "If the store knows the instance outside that move"),
    "the end of a destination proves nothing of its source": Rule(_CLAIMS, "except the source of its move"),
    "the end of an unknown attempt proves nothing": Rule(
        _CLAIMS, "without ever having a claim proves nothing about other attempts"
    ),
    "step SETTLE follows a destination": Rule(_NAMES, "follows a destination of an unknown move"),
    "a later attempt ends the move before it": Rule(_LOSSES, "The move fails, and the record takes the claim"),
    "a later attempt that is found settles": Rule(
        _NAMES, "If the abort of an attempt finds a later one, the record settles too"
    ),
    "records in ERROR are looked for in other partitions": Rule(
        _NAMES, "For uncertain records in ERROR, the conductor also searches the other partitions"
    ),
    "a source is a later attempt": Rule(_NAMES, "A source counts as a later attempt"),
    "no audit ends a reported claim": Rule(_CLAIMS, "No audit ends a claim that its host has reported in this epoch"),
    "the source of a move is not replaced": Rule(_CLAIMS, "Nothing changes either if it is the source of a move"),
    "unverified claims close their consumer": Rule(
        _CLAIMS, "no other attempt of the instance is prepared or confirmed"
    ),
    "a move ends once no destination has a claim": Rule(_CLAIMS, "source --> only: end_moves, once no destination has"),
    "an ended migration never begins again": Rule(_MOVES, "An ended migration never begins again"),
    "a build does not end the source of its move": Rule(
        _MOVES, "Neither a later attempt nor its tombstone proves that a source has ended"
    ),
    "agents ignore late messages about moves": Rule(_MOVES, "and ignore lower numbers"),
    "the source stops first": Rule(_MOVES, "after the source has reported the stop, build the destination"),
    "an old stop is no answer": Rule(_RETURNS, "Reports count only if they follow the message of their step"),
    "the destination keeps the guest until the source runs it": Rule(
        _RETURNS, "the destination stops the guest and keeps its disk"
    ),
    "a late build starts nothing": Rule(
        _FAILURES, "a late build or delete of an older attempt changes nothing of a newer one"
    ),
    "agents audit before they act": Rule(_FAILURES, "audits before it confirms, starts or reports anything"),
    "isolated agents start nothing": Rule(_FAILURES, "for each guest immediately before the start"),
    "a doubtful deletion ends all claims": Rule(
        _FAILURES, "Guests and claims at both ends of the move end before the record is DELETED"
    ),
    "a confirm asks for the destination first": Rule(_RETURNS, "a confirm asks for the destination"),
    "a source boots if its destination may have run": Rule(
        _COPIES, "the source powers the guest off and boots it from its disk"
    ),
    "a return asks for the source last": Rule(_RETURNS, "the last step of a return for the source"),
    "a forgotten move begins again": Rule(_LOSSES, "the conductor begins the move again"),
    "a move that does not begin leaves the instance where it is": Rule(_LOSSES, "the instance is on its source"),
    "only an instance at rest leaves a leaked source": Rule(_LOSSES, "only while the instance rests on another host"),
    "a return looks for other destinations first": Rule(
        _LOSSES, "looks in the other partitions for a destination that the record forgot"
    ),
    "an uncertain move has no alternate": Rule(_LOSSES, "abandons the move and takes no alternate"),
    "a guest that followed a later message is not ended": Rule(_LOSSES, "keeps the guest and reports it"),
    "a move that has ended holds no guest": Rule(_LOSSES, "informs the host that the earlier move is over"),
    "a guest that is off for another move is not started": Rule(
        _LOSSES, "does not start that guest for the recorded migration"
    ),
    "a report of a later move settles the record": Rule(
        _LOSSES, "the recorded one is over: step `SETTLE` reads the claims"
    ),
    "a guest that is off for a move is reported again": Rule(
        _LOSSES, "reports each guest that has followed a message again every five minutes"
    ),
    "step SETTLE waits for hosts that may run the instance": Rule(
        _LOSSES, "waits while an unknown attempt of the instance may run"
    ),
    "step SETTLE selects no alternate": Rule(_LOSSES, "In step `SETTLE` the end of an attempt selects no alternate"),
    "a guest that was only to be copied has not run": Rule(_LOSSES, "has certainly not run"),
    "a comparison begins a forgotten move again": Rule(
        _CROSSING, "The comparison of records with claims begins the move"
    ),
    "uncertain attempts are aborted in all partitions": Rule(_CROSSING, "is aborted and looked for in all partitions"),
    "another partition may have forgotten the other end": Rule(_CROSSING, "until no host is awaited in any of these"),
    "claims are looked for in other partitions": Rule(_CROSSING, "its other end is looked for in the other partitions"),
    "settling adopts unknown moves": Rule(_FAILURES, "rebuilds the move from the claims and the agents' journals"),
}

_left_out: set[str] = set()


def holds(rule: str) -> bool:
    """Return whether the model keeps a rule."""
    return rule not in _left_out


@contextlib.contextmanager
def leave_out(rule: str) -> Iterator[None]:
    """Leave a rule out inside the block."""
    _left_out.add(rule)
    try:
        yield
    finally:
        _left_out.discard(rule)
