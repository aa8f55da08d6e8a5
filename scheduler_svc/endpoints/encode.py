# SPDX-License-Identifier: Apache-2.0
"""Conversion of domain records to bus objects."""

from collections.abc import Sequence
from typing import Any

from rpcapi import objects
from rpcapi.resources.claims import REFUSAL_REASONS, Answer, Verdict
from scheduler_svc.core.records import Claim, ClaimResult, Intent, IntentResult
from scheduler_svc.host_state.documents import HostStateDocument
from scheduler_svc.notifications.changes import HostStateChanges
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.scheduling.alternates import PreparedBatch
from scheduler_svc.scheduling.calls import ServedCall
from scheduler_svc.scheduling.extensions import CatalogueEntry
from scheduler_svc.store.allocations import unheld_amounts
from scheduler_svc.store.records import AuditOutcome, Verification
from scheduler_svc.store.unverified import consumer_of


def selections(attempt: int, selection_result: ServedCall) -> objects.Selections:
    deadlines = [result.deadline_ms for result in selection_result.prepared if result.deadline_ms is not None]
    return objects.Selections.build(
        [str(result.host) for result in selection_result.prepared],
        [result.alternates for result in selection_result.prepared],
        partition=selection_result.partition,
        attempt=attempt,
        deadline_ms=min(deadlines, default=0),
        epoch=selection_result.epoch,
        position=selection_result.position,
        allocations=_allocations(selection_result.prepared),
    )


def prepare_answers(batch: PreparedBatch) -> objects.ClaimAnswers:
    """Encode the answer to prepare_claims; a refusal lists the verdict on each tried host.

    A refusal becomes CLOSED if an audit or the new epoch may change it, and POSSIBLE if the intent fits but the batch
    failed because of other consumers.
    """
    results, current = batch.answer.prepared, batch.answer.current
    return objects.ClaimAnswers.of(
        consumers=[result.consumer for result in results],
        attempts=[result.attempt for result in results],
        answers=[str(_prepare_answer(result, current)) for result in results],
        hosts=[result.host for result in results],
        reasons=[
            _refusal(intent, result.verdicts, current)
            if result.answer is Answer.REFUSED
            else REFUSAL_REASONS.get(result.answer, "")
            for intent, result in zip(batch.intents, results, strict=True)
        ],
        deadlines_ms=[result.deadline_ms for result in results],
        allocations=_allocations(results),
    )


def _allocations(results: Sequence[IntentResult]) -> list[dict[str, dict[str, int]] | None]:
    """Return each claim's allocations, or [] if every claim takes its resources from its host."""
    allocations = [result.allocations for result in results]
    if not any(allocations):
        return []
    return [
        {provider: dict(amounts) for provider, amounts in by_provider.items()} if by_provider else None
        for by_provider in allocations
    ]


def claim_answers(answers: Sequence[ClaimResult], success: Answer) -> objects.ClaimAnswers:
    """Encode the answer to confirm, abort or release; answers other than ``success`` have a reason."""
    return objects.ClaimAnswers.of(
        consumers=[result.consumer for result in answers],
        attempts=[result.attempt for result in answers],
        answers=[str(result.answer) for result in answers],
        hosts=[result.host for result in answers],
        reasons=["" if result.answer is success else REFUSAL_REASONS.get(result.answer, "") for result in answers],
        deadlines_ms=[None] * len(answers),
        partitions=[result.partition for result in answers] if any(result.partition for result in answers) else [],
        migrations=[result.migration for result in answers] if any(result.migration for result in answers) else [],
        ends=[result.end and str(result.end) for result in answers] if any(result.end for result in answers) else [],
    )


def claim(claim: Claim, lead_ms: int) -> dict[str, Any]:
    """Encode a claim; the deadline is in the server's time, ``lead_ms`` ahead of partition time."""
    return {
        "consumer": consumer_of(claim.ref.consumer),
        "attempt": claim.attempt,
        "role": str(claim.role),
        "migration": claim.move,
        "source_attempt": claim.source_attempt,
        "generation": claim.generation,
        "type": claim.type,
        "project": claim.project,
        "user": claim.user,
        "state": str(claim.state),
        "host": claim.host,
        "allocations": {provider: dict(amounts) for provider, amounts in claim.allocations.items()},
        "unheld": unheld_amounts(claim),
        "deadline_ms": None if claim.deadline_ms is None else claim.deadline_ms + lead_ms,
        "request_id": claim.request_id,
        "group_id": claim.group.id if claim.group else None,
        "group_policy": str(claim.group.policy) if claim.group else None,
        "alternates": list(claim.alternates),
        "created_ms": claim.created_ms,
    }


def audit_answer(outcome: AuditOutcome, stamp: str | None) -> objects.AuditAnswer:
    return objects.AuditAnswer.of(
        epoch=outcome.epoch,
        consumers=[result.consumer for result in outcome.answers],
        attempts=[result.attempt for result in outcome.answers],
        answers=[str(result.answer) for result in outcome.answers],
        reasserted=outcome.reasserted,
        released=outcome.released,
        orphans=outcome.orphans,
        again_s=outcome.again_ms / 1000,
        stamp=stamp,
    )


def verify_report(partition: str, verification: Verification) -> objects.VerifyReport:
    return objects.VerifyReport.of(
        partition=partition,
        epoch=verification.epoch,
        position=verification.position,
        claims=dict(verification.claims),
        providers=verification.providers,
        problems=list(verification.problems),
        excess=[dict(entry) for entry in verification.excess],
        awaited=list(verification.awaited),
    )


def change_page(page: HostStateChanges) -> objects.ChangePage:
    return objects.ChangePage.of(
        changes=[change._asdict() for change in page.changes],
        epoch=page.epoch,
        position=page.position,
        at_end=page.at_end,
    )


def host_state(namespace: str, document: HostStateDocument) -> objects.HostState:
    return objects.HostState.of(namespace=namespace, **document._asdict())


def partitions(members: Sequence[OpenPartition]) -> objects.PartitionList:
    claims = [member.claim_counts() for member in members]
    positions = [member.replica.log_position for member in members]
    counts = [member.replica.host_counts for member in members]
    return objects.PartitionList.of(
        names=[member.name for member in members],
        available=[of_partition is not None for of_partition in claims],
        epochs=[epoch for epoch, _ in positions],
        positions=[position for _, position in positions],
        hosts=[count.hosts for count in counts],
        alive=[count.schedulable for count in counts],
        claims=[None if of_partition is None else dict(of_partition) for of_partition in claims],
    )


def decisions(partition: str, rows: Sequence[tuple[str, dict[str, Any]]], marker: str | None) -> objects.DecisionPage:
    page = [
        objects.Decision.of(request_id=request_id, partition=partition, document=document)
        for request_id, document in rows
    ]
    return objects.DecisionPage.of(decisions=page, marker=marker)


def filters(worker: str, entries: Sequence[CatalogueEntry]) -> objects.FilterList:
    return objects.FilterList.of(
        worker=worker,
        names=[entry.name for entry in entries],
        kinds=[entry.kind for entry in entries],
        forms=[entry.form for entry in entries],
        sources=[entry.source for entry in entries],
        enabled=[entry.enabled for entry in entries],
        reads=[{namespace: sorted(keys) for namespace, keys in entry.reads.items()} for entry in entries],
        calls=[entry.timings.calls for entry in entries],
        errors=[entry.timings.errors for entry in entries],
        seconds=[entry.timings.seconds for entry in entries],
        hosts=[entry.timings.hosts for entry in entries],
        last_errors=[entry.timings.last_error for entry in entries],
    )


def _prepare_answer(result: IntentResult, current: bool) -> Answer:
    if result.answer is not Answer.REFUSED:
        return result.answer
    if not current:
        return Answer.CLOSED
    if Verdict.FITS in result.verdicts:
        return Answer.POSSIBLE
    return Answer.CLOSED if Verdict.CLOSED in result.verdicts else Answer.REFUSED


def _refusal(intent: Intent, verdicts: Sequence[Verdict], current: bool) -> str:
    if not current:
        return "the store has begun a new epoch"
    verdict_texts = [
        f"{candidate.host}: {verdict}" for candidate, verdict in zip(intent.candidates, verdicts, strict=False)
    ]
    return ", ".join(verdict_texts) or "no candidates"
