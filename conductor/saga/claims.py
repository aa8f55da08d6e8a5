# SPDX-License-Identifier: Apache-2.0
"""Batched calls of the claims service of a partition."""

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log

from conductor import claim_answers
from conductor.claim_answers import MAX_REFS, ClaimAnswerRow, results_by_claim
from conductor.saga.saga_pass import SagaPass
from conductor.service_clients import NO_ANSWER_ERRORS, summarize_error
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.resources.claims import Answer

LOG = log.getLogger(__name__)

# The attempt holds no resources and never will: an unknown attempt has a tombstone now.
ENDED_ANSWERS = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED, Answer.FENCED, Answer.ENDED, Answer.UNKNOWN)


def find(saga_pass: SagaPass, partition: str | None, uuid: str, attempt: int) -> ClaimAnswerRow:
    """Return the answer about the claim of one attempt; raises what ``find_claims`` raises."""
    return claim_answers.find(saga_pass.context(), saga_pass.clients, partition, [(uuid, attempt)])[0]


def find_elsewhere(saga_pass: SagaPass, instance: InstanceRecord) -> tuple[str, Mapping[str, Any]] | None:
    """Return another partition than an instance's own that has a live claim of it, and that claim.

    Raises ClaimClosed if the record is not certain and another partition, which awaits a host, may have forgotten a
    claim; and the errors of ``list_partitions``, ``list_claims`` and ``find_claims``.
    """
    clients = saga_pass.clients
    for partition in clients.other_partitions(saga_pass.context(), instance.partition):
        page = clients.claims_of(partition).list_claims(saga_pass.context(), consumer=instance.uuid)
        for claim in page.claims:
            return partition, claim
        if saga_pass.is_certain(instance):
            continue
        answer = find(saga_pass, partition, instance.uuid, instance.attempt).answer
        if answer not in ENDED_ANSWERS:  # closed, or live since the list was made
            why = f"its claim in partition {partition} is {answer}"
            raise errors.ClaimClosed(consumer=instance.uuid, attempt=instance.attempt, why=why, partition=partition)
    return None


def find_source(saga_pass: SagaPass, instance: InstanceRecord) -> ClaimAnswerRow:
    """Return the answer about the claim on the source of an instance's move, as ``find`` does."""
    return find(saga_pass, instance.move.source_partition, instance.uuid, instance.move.source_attempt)


def abort(
    saga_pass: SagaPass, instances: Sequence[InstanceRecord], *, include_next: bool = False
) -> dict[tuple[str, int], ClaimAnswerRow] | None:
    """Abort the current attempt of each instance; return None if there was no answer.

    ``include_next`` aborts the next attempt too: a conductor may have prepared it without recording it. All instances
    must be of one partition. An instance whose record is certain waits only for the host that it names.
    """
    rows = [
        (instance.uuid, attempt, _destination(saga_pass, instance))
        for instance in instances
        for attempt in (instance.attempt, instance.next_attempt)[: 1 + include_next]
    ]
    client = saga_pass.clients.claims_of(instances[0].partition)
    answers: dict[tuple[str, int], ClaimAnswerRow] = {}
    try:
        saga_pass.check_stores(instances)
        for start in range(0, len(rows), MAX_REFS):
            consumers, attempts, destinations = zip(*rows[start : start + MAX_REFS], strict=True)
            claim_refs = objects.ClaimRefs.of(consumers=list(consumers), attempts=list(attempts))
            answer = client.abort_claims(saga_pass.context(), claim_refs, destinations=list(destinations))
            answers.update(results_by_claim(answer))
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        LOG.warning("Aborting %d claims got no answer: %s", len(rows), summarize_error(error))
        return None
    return answers


def _destination(saga_pass: SagaPass, instance: InstanceRecord) -> str | None:
    """Return the only service host that may run an attempt: "" if none may, None if any may.

    A build is sent to the host that the record names, and to the next one only when the former attempt has ended.
    """
    if not saga_pass.is_certain(instance) or (instance.host is None and instance.history):
        return None
    return names.host_of(instance.host or "")
