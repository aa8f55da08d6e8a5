# SPDX-License-Identifier: Apache-2.0
"""Vocabulary of claims: states, verdicts and answers of the claim verbs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

# Instances of one request: one script claims them all, and may block the store for at most 150 ms.
MAX_INSTANCES = 1000

INSTANCE = "INSTANCE"
MIGRATION = "MIGRATION"  # consumer of the source's resources until the move ends
MIGRATION_ATTEMPT = 1  # attempt number in a migration's tombstone
UNTYPED = ""  # Nova instance: Placement clients before microversion 1.38 send no type


class ClaimRole(StrEnum):
    """Role of a claim: only claim of its instance, or one side of a migration."""

    ONLY = "only"
    SOURCE = "source"  # the consumer is the migration
    DESTINATION = "destination"  # the consumer is the instance


class MoveEnd(NamedTuple):
    """Role of a claim in a migration; a destination also names the attempt at its source."""

    role: ClaimRole = ClaimRole.ONLY
    migration: str | None = None
    source_attempt: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the form in messages and journals, which rpcapi.validation.moves parses."""
        named = {"role": self.role.value, "migration": self.migration, "source_attempt": self.source_attempt}
        return {name: value for name, value in named.items() if value is not None}


class ClaimState(StrEnum):
    """State of a claim; the last four are final."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    UNVERIFIED = "unverified"  # Its host reports it, but the store knows otherwise.
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    FENCED = "fenced"  # released because an operator declared the host lost


class Verdict(StrEnum):
    """Verdict of the claim script on one candidate."""

    FITS = "FITS"
    FULL = "FULL"  # does not fit; the worker's replica was current
    CONCURRENT = "CONCURRENT"  # does not fit since a change after the replica's log position
    STALE = "STALE"  # the host's eligibility changed after the replica's log position
    LIMIT = "LIMIT"  # the node has as many claims as a filter permits
    GROUP = "GROUP"  # forbidden by the server group's policy
    PASSED = "PASSED"  # not tried: it changed since the log position; an unchanged host of similar score was claimed
    CLOSED = "CLOSED"  # not audited in this epoch
    UNKNOWN = "UNKNOWN"  # no such provider, or no inventory of the resource class


class Answer(StrEnum):
    """Answer of a claim verb for one claim: the claim's state after the call, or why the call failed."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    FENCED = "fenced"
    UNVERIFIED = "unverified"  # audit: counts on its host only, until a conductor record names the attempt
    UNKNOWN = "unknown"
    FOREIGN = "foreign"  # The claim is not on the caller's host.
    REFUSED = "refused"  # prepare: rejected by every candidate
    POSSIBLE = "possible"  # prepare: a candidate fits, but other intents of the batch failed; repeat without them
    ENDED = "ended"  # prepare: this attempt or a later one has already ended
    CONFLICT = "conflict"  # prepare: another attempt of the consumer is live
    CLOSED = "closed"  # undecided until a host audits in this epoch or an unverified claim ends: retry


ENDS = frozenset({Answer.RELEASED, Answer.ABORTED, Answer.EXPIRED, Answer.FENCED})


# Why a claim verb did not succeed.
REFUSAL_REASONS: Mapping[str, str] = {
    Answer.UNKNOWN: "no such claim of that consumer and attempt",
    Answer.FOREIGN: "the claim is on another host",
    Answer.EXPIRED: "the claim's deadline passed before it was confirmed",
    Answer.ABORTED: "the claim was aborted",
    Answer.RELEASED: "the claim was released",
    Answer.FENCED: "the claim's host was fenced",
    Answer.ENDED: "this attempt, or a later one, has ended",
    Answer.CONFLICT: "the consumer has a live claim of another attempt",
    Answer.CONFIRMED: "the claim is confirmed: it belongs to its host",
    Answer.CLOSED: "undecided until its hosts audit, or its unverified claims end",
}


class GroupPolicy(StrEnum):
    """Server group policy. The store counts members for all; the claim script enforces hard policies."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    SOFT_AFFINITY = "soft-affinity"
    SOFT_ANTI_AFFINITY = "soft-anti-affinity"
