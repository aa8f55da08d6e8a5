# SPDX-License-Identifier: Apache-2.0
"""Vocabulary of claims: states, verdicts and answers of the claim verbs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from rpcapi import errors

# Instances of one request. One script claims them all, and may block the store for 150 ms at most.
MAX_INSTANCES = 1000

# Consumer types.
INSTANCE = "INSTANCE"
MIGRATION = "MIGRATION"  # consumer of the source's resources until the move ends
MIGRATION_ATTEMPT = 1  # attempt of an ended migration's tombstone
UNTYPED = ""  # Nova instance: clients of Placement before microversion 1.38 send no type


class ClaimRole(StrEnum):
    """Role of a claim: the only claim of its instance, or one side of a migration."""

    ONLY = "only"
    SOURCE = "source"  # the consumer is the migration
    DESTINATION = "destination"  # the consumer is the instance


class MoveEnd(NamedTuple):
    """End of a move that a claim is: its role in the migration, and for a destination the attempt at the source."""

    role: ClaimRole = ClaimRole.ONLY
    migration: str | None = None
    source_attempt: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the form of messages and journals, read by rpcapi.validation.moves."""
        named = {"role": self.role.value, "migration": self.migration, "source_attempt": self.source_attempt}
        return {name: value for name, value in named.items() if value is not None}


class ClaimState(StrEnum):
    """State of a claim; the last four are final."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    UNVERIFIED = "unverified"  # its host's audit reported it, the store knows otherwise
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    FENCED = "fenced"  # released by an operator's declaration that nothing runs on the host


class Verdict(StrEnum):
    """Result of the claim script for one candidate."""

    FITS = "FITS"
    FULL = "FULL"  # does not fit; the worker's replica was current
    CONCURRENT = "CONCURRENT"  # does not fit because of a change after the replica's log position
    STALE = "STALE"  # the host's eligibility changed after the replica's log position
    LIMIT = "LIMIT"  # the node has as many claims as a filter permits
    GROUP = "GROUP"  # forbidden by the server group's policy
    PASSED = "PASSED"  # not tried: changed since the replica, and an unchanged host of similar weight was claimed
    CLOSED = "CLOSED"  # not audited in this epoch
    UNKNOWN = "UNKNOWN"  # no such provider, or no inventory of the resource class


class Answer(StrEnum):
    """Answer of a claim verb for one claim: its state after the call, or the reason of the failure."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    FENCED = "fenced"
    UNVERIFIED = "unverified"  # audit: counted on its host only, until a conductor record names the attempt
    UNKNOWN = "unknown"  # no such claim
    FOREIGN = "foreign"  # on another host than the caller's
    REFUSED = "refused"  # prepare: rejected by every candidate
    POSSIBLE = "possible"  # prepare: accepted by a candidate, but the batch was not claimed: repeat without the others
    ENDED = "ended"  # prepare: this attempt or a later one has already ended
    CONFLICT = "conflict"  # prepare: another attempt of the consumer is live
    CLOSED = "closed"  # undecided until a host audits in this epoch or an unverified claim ends: retry


ENDS = frozenset({Answer.RELEASED, Answer.ABORTED, Answer.EXPIRED, Answer.FENCED})  # final answers of an ended claim


class ClaimRefusal(NamedTuple):
    """Error and reason that report an unsuccessful answer."""

    error: type[errors.ClaimError]
    reason: str


CLAIM_REFUSALS: Mapping[str, ClaimRefusal] = {
    Answer.UNKNOWN: ClaimRefusal(errors.ClaimUnknown, "no such claim of that consumer and attempt"),
    Answer.FOREIGN: ClaimRefusal(errors.ClaimForeign, "the claim is on another host"),
    Answer.EXPIRED: ClaimRefusal(errors.ClaimExpired, "the claim's deadline passed before it was confirmed"),
    Answer.ABORTED: ClaimRefusal(errors.ClaimEnded, "the claim was aborted"),
    Answer.RELEASED: ClaimRefusal(errors.ClaimEnded, "the claim was released"),
    Answer.FENCED: ClaimRefusal(errors.ClaimEnded, "the claim's host was fenced"),
    Answer.ENDED: ClaimRefusal(errors.ClaimEnded, "this attempt, or a later one, has ended"),
    Answer.CONFLICT: ClaimRefusal(errors.ClaimConflict, "the consumer has a live claim of another attempt"),
    Answer.CONFIRMED: ClaimRefusal(errors.ClaimConflict, "the claim is confirmed: it belongs to its host"),
    Answer.CLOSED: ClaimRefusal(errors.ClaimClosed, "undecided until its hosts audit, or its unverified claims end"),
}


class GroupPolicy(StrEnum):
    """Server group policies. The store counts members for all, the claim script enforces the hard ones."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    SOFT_AFFINITY = "soft-affinity"  # preferred by a weigher, not enforced
    SOFT_ANTI_AFFINITY = "soft-anti-affinity"
