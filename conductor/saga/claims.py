# SPDX-License-Identifier: Apache-2.0
"""Batched calls of a partition's claims service."""

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log

from conductor import claim_answers
from conductor.claim_answers import CLAIMS_PER_CALL, ClaimAnswerRow, results_by_claim
from conductor.collaborators import CALL_ERRORS, summarize_error
from conductor.saga.step_context import StepContext
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.resources.claims import Answer

LOG = log.getLogger(__name__)

# Answers for attempts that hold no resources and never will: an unknown attempt got a tombstone from the call.
ENDED_ANSWERS = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED, Answer.FENCED, Answer.ENDED, Answer.UNKNOWN)


def find(context: StepContext, partition: str | None, uuid: str, attempt: int) -> ClaimAnswerRow:
    return claim_answers.find(context.new_ctxt(), context.clients, partition, [(uuid, attempt)])[0]


def find_elsewhere(context: StepContext, instance: InstanceRecord) -> tuple[str, Mapping[str, Any]] | None:
    """Return (partition, claim) of a live claim outside the instance's own partition, or None.

    Raises ClaimClosed if the record is not certain and a partition that awaits a host may have lost a claim. Also
    raises the errors of its calls.
    """
    clients = context.clients
    for partition in clients.other_partitions(context.new_ctxt(), instance.partition):
        page = clients.claims_of(partition).list_claims(context.new_ctxt(), consumer=instance.uuid)
        for claim in page.claims:
            return partition, claim
        if context.is_certain(instance):
            continue
        answer = find(context, partition, instance.uuid, instance.attempt).answer
        if answer not in ENDED_ANSWERS:  # closed, or live since the list was made
            why = f"its claim in partition {partition} is {answer}"
            raise errors.ClaimClosed(consumer=instance.uuid, attempt=instance.attempt, why=why, partition=partition)
    return None


def end_move(context: StepContext, partition: str | None, uuid: str, attempt: int, migration: str) -> str:
    """Make a source claim the instance's only claim again; return the answer.

    Raises the errors of its call.
    """
    refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[attempt])
    (answer,) = context.clients.claims_of(partition).end_moves(context.new_ctxt(), refs, [migration]).answers
    return str(answer)


def abort(
    context: StepContext, instances: Sequence[InstanceRecord], *, include_next: bool = False
) -> dict[tuple[str, int], ClaimAnswerRow] | None:
    """Abort the current attempts of instances in one partition; return None without an answer.

    If a record is certain, the abort waits only for its host. ``include_next`` aborts the next attempt too, which may
    be prepared but not recorded.
    """
    rows = [
        (instance.uuid, attempt, _destination(context, instance))
        for instance in instances
        for attempt in (instance.attempt, instance.next_attempt)[: 1 + include_next]
    ]
    client = context.clients.claims_of(instances[0].partition)
    answers: dict[tuple[str, int], ClaimAnswerRow] = {}
    try:
        context.check_stores(instances)
        for start in range(0, len(rows), CLAIMS_PER_CALL):
            consumers, attempts, destinations = zip(*rows[start : start + CLAIMS_PER_CALL], strict=True)
            claim_refs = objects.ClaimRefs.of(consumers=list(consumers), attempts=list(attempts))
            answer = client.abort_claims(context.new_ctxt(), claim_refs, destinations=list(destinations))
            answers.update(results_by_claim(answer))
    except CALL_ERRORS as error:
        LOG.warning("No answer about aborting %d claims: %s", len(rows), summarize_error(error))
        return None
    return answers


def _destination(context: StepContext, instance: InstanceRecord) -> str | None:
    """Return the only service host that may run an attempt; "" for none, None for any.

    A certain record names the host that received the build; the next host receives it only after this attempt has
    ended.
    """
    if not context.is_certain(instance) or (instance.host is None and instance.history):
        return None
    return names.host_of(instance.host or "")
