# SPDX-License-Identifier: Apache-2.0
"""Batched calls of the claims service of a partition."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oslo_log import log

from conductor.saga.saga_pass import SagaPass
from conductor.service_clients import NO_ANSWER_ERRORS, summarize_error
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.resources.claims import Answer

LOG = log.getLogger(__name__)

MAX_REFS = 500  # maximum claims that one call ends

# The attempt holds no resources and never will: an unknown attempt has a tombstone now.
ENDED_ANSWERS = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED, Answer.FENCED, Answer.ENDED, Answer.UNKNOWN)


class ClaimAnswerRow(NamedTuple):
    """The answer for one claim; ``partition`` is set where another partition than the called one gave it."""

    answer: str
    host: str | None
    reason: str
    allocations: Mapping[str, Mapping[str, int]] | None = None
    partition: str | None = None


def find(saga_pass: SagaPass, partition: str | None, uuid: str, attempt: int) -> objects.ClaimAnswers:
    """Return the answer about the claim of one attempt; raises what ``find_claims`` raises."""
    refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[attempt])
    return saga_pass.clients.claims_of(partition).find_claims(saga_pass.context(), refs)


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
        (answer,) = find(saga_pass, partition, instance.uuid, instance.attempt).answers
        if answer not in ENDED_ANSWERS:  # closed, or live since the list was made
            why = f"its claim in partition {partition} is {answer}"
            raise errors.ClaimClosed(consumer=instance.uuid, attempt=instance.attempt, why=why, partition=partition)
    return None


def find_source(saga_pass: SagaPass, instance: InstanceRecord) -> tuple[str, str | None]:
    """Return the state of the claim on the source of an instance's move, as ``find_end`` does."""
    return find_end(saga_pass, instance.move.source_partition, instance.uuid, instance.move.source_attempt)


def find_end(saga_pass: SagaPass, partition: str | None, uuid: str, attempt: int) -> tuple[str, str | None]:
    """Return the state of the claim of one end of a move, or how it ended, and its migration.

    Raises what ``find_claims`` raises.
    """
    (end,) = find_ends(saga_pass, partition, [(uuid, attempt)])
    return end


def find_ends(
    saga_pass: SagaPass, partition: str | None, ends: Sequence[tuple[str, int]]
) -> list[tuple[str, str | None]]:
    """Return what ``find_end`` does for each (instance, attempt), in order, with a call for MAX_REFS of them."""
    client, rows = saga_pass.clients.claims_of(partition), []
    for start in range(0, len(ends), MAX_REFS):
        consumers, attempts = zip(*ends[start : start + MAX_REFS], strict=True)
        refs = objects.ClaimRefs.of(consumers=list(consumers), attempts=list(attempts))
        answers = client.find_claims(saga_pass.context(), refs)
        absent = [None] * len(consumers)
        states = zip(answers.answers, answers.ends or absent, answers.migrations or absent, strict=True)
        rows += [(str(end or answer), migration) for answer, end, migration in states]
    return rows


def results_by_claim(answers: objects.ClaimAnswers) -> dict[tuple[str, int], ClaimAnswerRow]:
    """Return the answers by (consumer, attempt)."""
    absent = [None] * len(answers.answers)
    allocations, partitions = answers.allocations or absent, answers.partitions or absent
    rows = zip(answers.answers, answers.hosts, answers.reasons, allocations, partitions, strict=True)
    identities = zip(answers.consumers, answers.attempts, strict=True)
    return {identity: ClaimAnswerRow(*row) for identity, row in zip(identities, rows, strict=True)}


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
