# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of claims: the states of a claim and the answers of the claim verbs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from rpcapi import errors

# The reason in NoValidHost for hosts that are alive and accept claims again after their audit.
NOT_AUDITED = "not audited in this epoch"

# The reason in NoValidHost for hosts of partitions with an unreachable store.
PARTITION_UNAVAILABLE = "partition unavailable"


# Instances of one request, which are claimed by one script: it may keep the store busy for 150 ms at most.
MAX_INSTANCES = 1000

# Types of the consumers of claims.
INSTANCE = "INSTANCE"
MIGRATION = "MIGRATION"  # holds the source of a move until its end
UNTYPED = ""  # an instance of Nova: its clients of Placement before microversion 1.38 name no type
BUILT_TYPES = frozenset({INSTANCE, UNTYPED})  # consumers that their hosts build


class ClaimRole(StrEnum):
    """Role of a claim: the only claim of its instance, or an end of a migration."""

    ONLY = "only"
    SOURCE = "source"  # the migration holds the claim's resources
    DESTINATION = "destination"  # the instance holds the claim's resources


class ClaimState(StrEnum):
    """State of a claim; the last four are final."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    UNVERIFIED = "unverified"  # reported by its host's audit against what the store knows
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    FENCED = "fenced"  # released by an operator who declared that nothing runs on its host


class Verdict(StrEnum):
    """Result of the claim script for one candidate."""

    FITS = "FITS"
    FULL = "FULL"  # does not fit, and the scheduler worker's replica was current
    CONCURRENT = "CONCURRENT"  # does not fit because of a change after the position of the worker's replica
    STALE = "STALE"  # the host's eligibility changed after the position of the worker's replica
    GROUP = "GROUP"  # the server group's policy forbids it
    PASSED = "PASSED"  # not tried: it changed since the replica, and an unchanged host of similar weight was claimed
    CLOSED = "CLOSED"  # the host has not been audited in this epoch
    UNKNOWN = "UNKNOWN"  # no such provider, or it lacks the resource class


class Answer(StrEnum):
    """Answer of a claim verb for one claim: its state after the call, or why there is no claim."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    FENCED = "fenced"
    UNVERIFIED = "unverified"  # audit: counted on its host only, until the conductor's record names the attempt
    UNKNOWN = "unknown"  # no claim has that identity
    FOREIGN = "foreign"  # the claim belongs to another host than the caller
    REFUSED = "refused"  # prepare: no candidate accepted the claim
    POSSIBLE = "possible"  # prepare: a candidate accepts it, but none of the call is prepared: repeat it without others
    ENDED = "ended"  # prepare: this attempt or a later one has already ended
    CONFLICT = "conflict"  # prepare: the consumer has a live claim of another attempt
    CLOSED = "closed"  # undecided until a host has been audited in this epoch, or an unverified claim has ended: retry


ENDS = frozenset({Answer.RELEASED, Answer.ABORTED, Answer.EXPIRED, Answer.FENCED})  # how a claim has ended


class ClaimRefusal(NamedTuple):
    """How an answer that is no success is reported: the error to raise, and the reason in a message."""

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
    """Server group policies. The store counts members for all; the claim script enforces the first two."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    SOFT_AFFINITY = "soft-affinity"  # best effort: a weigher prefers it, no filter enforces it
    SOFT_ANTI_AFFINITY = "soft-anti-affinity"
