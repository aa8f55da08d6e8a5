# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of claims: states a claim is in, and what the verbs answer."""

from enum import StrEnum

# The reason under which NoValidHost counts hosts that live and will take claims again after their audit.
NOT_AUDITED = "not audited in this epoch"

# The reason under which it counts hosts of partitions whose stores do not answer now.
PARTITION_AWAY = "partition unavailable"


class ClaimState(StrEnum):
    """Where a claim stands; the last three are final."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"


class Verdict(StrEnum):
    """What the claim script says of one candidate."""

    FITS = "FITS"
    FULL = "FULL"  # does not fit, and the decider's view was current
    CONCURRENT = "CONCURRENT"  # does not fit because of a change after the decider's view
    STALE = "STALE"  # the host's eligibility changed after the decider's view
    GROUP = "GROUP"  # the group's policy forbids it
    PASSED = "PASSED"  # not tried: it changed after the decider's view, and one about as good that had not was taken
    CLOSED = "CLOSED"  # the host has not been audited in this epoch
    UNKNOWN = "UNKNOWN"  # no such provider, or it lacks the resource class


class Answer(StrEnum):
    """What a claim verb answers for one claim: its state after the call, or why there is none."""

    PREPARED = "prepared"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ABORTED = "aborted"
    EXPIRED = "expired"
    UNKNOWN = "unknown"  # no claim of that identity is known
    FOREIGN = "foreign"  # the claim is on another host than the caller's
    REFUSED = "refused"  # prepare: no candidate would take it
    ENDED = "ended"  # prepare: this attempt, or a later one, has ended already
    CONFLICT = "conflict"  # prepare: the consumer has a live claim of another attempt
    CLOSED = "closed"  # a host must be audited in this epoch before anybody can know: ask again


class GroupPolicy(StrEnum):
    """Server group policies. Members are counted for each; the claim script enforces the first two."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    SOFT_AFFINITY = "soft-affinity"  # a wish: weighed, and never a refusal
    SOFT_ANTI_AFFINITY = "soft-anti-affinity"
