# SPDX-License-Identifier: Apache-2.0
"""The verbs that carry one claim on: confirm, abort, release, move."""

from dataclasses import replace

from rpcapi.model import names
from rpcapi.model.claims import Answer, ClaimState
from scheduler_svc.store.records import Claim, Ended, Ref
from scheduler_svc.store.verbs.partition import UNKNOWN_END, Partition, answer_of


def confirm(partition: Partition, host: str, ref: Ref, now: int) -> Ended:
    """Confirm one claim for its host."""
    claim, answer = _find(partition, ref, host, now)
    if claim is None:
        return Ended(*ref, answer or Answer.UNKNOWN)
    if answer is not None:
        return Ended(*ref, answer, claim.host)
    if claim.state == ClaimState.PREPARED:
        if not partition.is_open(claim.host):
            # Its end, and the next attempt elsewhere, may be what was forgotten.
            return Ended(*ref, Answer.CLOSED, claim.host)
        partition.confirm(claim)
    return Ended(*ref, Answer.CONFIRMED, claim.host)


def abort(partition: Partition, host: str | None, ref: Ref, now: int) -> Ended:
    """End one prepared claim."""
    claim, answer = _find(partition, ref, host, now)
    if answer is not None:
        return Ended(*ref, answer, claim.host if claim else None)
    if claim is None:
        if partition.may_have_forgotten(ref.consumer) and (host is None or partition.is_awaited(host)):
            return Ended(*ref, Answer.CLOSED)
        partition.bury(ref, UNKNOWN_END, now)
        return Ended(*ref, Answer.UNKNOWN)
    if claim.state == ClaimState.CONFIRMED:
        return Ended(*ref, Answer.CONFIRMED, claim.host)
    if not partition.is_open(claim.host):
        return Ended(*ref, Answer.CLOSED, claim.host)
    partition.end(claim, ClaimState.ABORTED, now)
    return Ended(*ref, Answer.ABORTED, claim.host)


def release(partition: Partition, host: str, ref: Ref, now: int) -> Ended:
    """Give one claim back."""
    claim, answer = _find(partition, ref, host, now)
    if answer is not None:
        given = Answer.RELEASED if answer is Answer.UNKNOWN else answer
        return Ended(*ref, given, claim.host if claim else None)
    if claim is None:
        partition.bury(ref, ClaimState.RELEASED, now)
        return Ended(*ref, Answer.RELEASED)
    partition.end(claim, ClaimState.RELEASED, now)
    return Ended(*ref, Answer.RELEASED, claim.host)


def move(partition: Partition, ref: Ref, to: Ref, consumer_type: str, now: int) -> Ended:
    """Hand a confirmed claim over; no sum changes. A refusal ends ``to``, so that no repeated message does it later."""
    there = partition.settle(to.consumer, now)
    if there is not None and there.attempt == to.attempt and there.moved_from == _origin(ref):
        return Ended(*to, Answer.CONFIRMED, there.host)
    end = partition.end_of(to)
    if end is not None:
        return Ended(*to, answer_of(end))
    claim, answer = _find(partition, ref, None, now)
    if claim is not None and claim.state == ClaimState.CONFIRMED and there is None:
        _hand_over(partition, claim, to, consumer_type, now)
        return Ended(*to, Answer.CONFIRMED, claim.host)
    for unsure in [ref] * (claim is None and answer is None) + [to]:
        if partition.may_have_forgotten(unsure.consumer):
            return Ended(*unsure, Answer.CLOSED)
    if there is None or there.attempt < to.attempt:
        partition.bury(to, ClaimState.ABORTED, now)
    return _refused(ref, to, claim, answer, there)


def _refused(ref: Ref, to: Ref, claim: Claim | None, answer: Answer | None, there: Claim | None) -> Ended:
    """Return why a claim was not moved: it is none, is not confirmed, or the other consumer has one."""
    if claim is None:
        return Ended(*ref, answer or Answer.UNKNOWN)
    if claim.state == ClaimState.CONFIRMED and there is not None:
        return Ended(*to, Answer.CONFLICT, there.host)
    return Ended(*ref, answer_of(claim.state), claim.host)


def _origin(ref: Ref) -> str:
    """Return what a claim remembers of the one that it was."""
    return f"{ref.consumer}@{ref.attempt}"


def _hand_over(partition: Partition, claim: Claim, to: Ref, consumer_type: str, now: int) -> None:
    partition.end(claim, ClaimState.RELEASED, now)
    partition.hold(
        replace(
            claim,
            consumer=to.consumer,
            attempt=to.attempt,
            type=consumer_type,
            generation=1,
            orphan_ms=None,
            moved_from=_origin(Ref(claim.consumer, claim.attempt)),
        )
    )


def _find(partition: Partition, ref: Ref, host: str | None, now: int) -> tuple[Claim | None, Answer | None]:
    """Return the live claim that is meant, or the answer that ends the matter, or neither: it never was."""
    claim = partition.settle(ref.consumer, now)
    if claim is not None and claim.attempt == ref.attempt:
        foreign = host is not None and names.host_of(claim.host) != host
        return claim, Answer.FOREIGN if foreign else None
    end = partition.end_of(ref)
    return None, None if end is None else answer_of(end)
