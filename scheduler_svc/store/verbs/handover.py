# SPDX-License-Identifier: Apache-2.0
"""Hand-over of a claim to another identity: the end of the old one names the new one."""

from dataclasses import replace

from rpcapi.resources.claim_identity import format_identity, parse_identity
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef, ClaimResult
from scheduler_svc.store.verbs.partition import PartitionState

MAX_HANDOVERS = 100  # of one claim that are followed
_MOVED = f"{Answer.MOVED} "  # begins the end of a moved claim


def moved_end(to: ClaimRef) -> str:
    """Return the end of an attempt whose claim continues as ``to``."""
    return _MOVED + format_identity(*to)


def successor(end: str | None) -> ClaimRef | None:
    """Return the identity that an end names, or None."""
    if end is None or not end.startswith(_MOVED):
        return None
    return ClaimRef(*parse_identity(end.removeprefix(_MOVED)))


def name_successor(partition: PartitionState, result: ClaimResult) -> ClaimResult:
    """Return the result of a verb, with the identity that the claim has now if it was moved."""
    if result.answer is not Answer.MOVED:
        return result
    return replace(result, moved_to=successor(end_of(partition, ClaimRef(result.consumer, result.attempt))))


def end_of(partition: PartitionState, ref: ClaimRef) -> str | None:
    """Return how an attempt ended; where its claim was moved on, or ended, as another identity, the last end."""
    end = partition.end_of(ref)
    for _ in range(MAX_HANDOVERS):
        to = successor(end)
        later = None if to is None else partition.end_of(to)
        if later is None:
            break
        end = later
    return end
