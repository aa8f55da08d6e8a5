# SPDX-License-Identifier: Apache-2.0
"""Hand-over of a claim to another identity: the end of the old one names the new one."""

from dataclasses import replace

from rpcapi.resources.claim_identity import format_identity, parse_identity
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
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


def source_host_of(partition: PartitionState, consumer: str, group_id: str) -> str | None:
    """Return the node on which a migration holds the source of a consumer that moves, as a member of a group."""
    for attempt, end in partition.ended.get(consumer, {}).items():
        to = successor(end)
        claim = None if to is None else partition.claims.get(to.consumer)
        if claim is not None and _is_source(claim, ClaimRef(consumer, attempt), group_id):
            return claim.host
    return None


def _is_source(claim: Claim, origin: ClaimRef, group_id: str) -> bool:
    return claim.moved_from == format_identity(*origin) and claim.group is not None and claim.group.id == group_id
