# SPDX-License-Identifier: Apache-2.0
"""The domain's records as objects for the bus."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import objects
from rpcapi.model.claims import Answer, Verdict
from scheduler_svc.deciding.alternates import Asked
from scheduler_svc.deciding.asked import Decided
from scheduler_svc.hosts.deployment_states import Held
from scheduler_svc.partitions import Overview
from scheduler_svc.plugins.catalogue import Listed
from scheduler_svc.store.records import AuditOutcome, Claim, Ended, Intent, Prepared, Verification

_SENTENCES: Mapping[str, str] = {
    Answer.UNKNOWN: "no claim of that consumer and attempt is known",
    Answer.FOREIGN: "the claim is on another host",
    Answer.EXPIRED: "the claim's deadline passed before it was confirmed",
    Answer.ABORTED: "the claim was aborted",
    Answer.RELEASED: "the claim was released",
    Answer.ENDED: "this attempt, or a later one, has ended",
    Answer.CONFLICT: "the consumer has a live claim of another attempt",
    Answer.CONFIRMED: "the claim is confirmed: it belongs to its host",
    Answer.CLOSED: "a host must be audited in this epoch before anybody can know",
}


def selections(attempt: int, decided: Decided) -> objects.Selections:
    """Return the answer to select_destinations."""
    deadlines = [one.deadline_ms for one in decided.prepared if one.deadline_ms is not None]
    return objects.Selections.build(
        [str(one.host) for one in decided.prepared],
        [one.alternates for one in decided.prepared],
        partition=decided.partition,
        attempt=attempt,
        deadline_ms=min(deadlines, default=0),
        epoch=decided.epoch,
        position=decided.position,
        allocations=_allocations(decided.prepared),
    )


def prepared(served: Sequence[Asked]) -> objects.ClaimAnswers:
    """Return the answer to prepare_claims; a refusal names each host that was tried and what it said.

    One that an audit may change is answered CLOSED.
    """
    every = [one for asked in served for one in asked.answer.prepared]
    return objects.ClaimAnswers.of(
        consumers=[one.consumer for one in every],
        attempts=[one.attempt for one in every],
        answers=[
            str(Answer.CLOSED if _may_change(one, asked.answer.current) else one.answer)
            for asked in served
            for one in asked.answer.prepared
        ],
        hosts=[one.host for one in every],
        reasons=[
            _refusal(intent, one.verdicts, asked.answer.current)
            if one.answer is Answer.REFUSED
            else _reason(one.answer)
            for asked in served
            for intent, one in zip(asked.intents, asked.answer.prepared, strict=True)
        ],
        deadlines_ms=[one.deadline_ms for one in every],
        allocations=_allocations(every),
    )


def _allocations(prepared: Sequence[Prepared]) -> list[dict[str, dict[str, int]] | None]:
    """Return what each claim holds of which provider; nothing where all hold the request's resources at their host."""
    held = [one.allocations for one in prepared]
    if not any(held):
        return []
    return [{provider: dict(amounts) for provider, amounts in each.items()} if each else None for each in held]


def ended(answers: Sequence[Ended], wanted: Answer) -> objects.ClaimAnswers:
    """Return the answer to a verb that carries claims on; one that was not ``wanted`` has a sentence why."""
    return objects.ClaimAnswers.of(
        consumers=[one.consumer for one in answers],
        attempts=[one.attempt for one in answers],
        answers=[str(one.answer) for one in answers],
        hosts=[one.host for one in answers],
        reasons=["" if one.answer is wanted else _reason(one.answer) for one in answers],
        deadlines_ms=[None] * len(answers),
    )


def claim(held: Claim) -> dict[str, Any]:
    """Return one element of a page of claims."""
    return {
        "consumer": held.consumer,
        "attempt": held.attempt,
        "generation": held.generation,
        "type": held.type,
        "project": held.project,
        "user": held.user,
        "state": str(held.state),
        "host": held.host,
        "allocations": {provider: dict(amounts) for provider, amounts in held.allocations.items()},
        "deadline_ms": held.deadline_ms,
        "request_id": held.request_id,
        "group_id": held.group.id if held.group else None,
        "alternates": list(held.alternates),
        "created_ms": held.created_ms,
    }


def audited(outcome: AuditOutcome) -> objects.AuditAnswer:
    """Return the answer to audit_host; without columns where it was for another epoch."""
    return objects.AuditAnswer.of(
        epoch=outcome.epoch,
        consumers=[one.consumer for one in outcome.answers],
        attempts=[one.attempt for one in outcome.answers],
        answers=[str(one.answer) for one in outcome.answers],
        reasserted=outcome.reasserted,
        released=outcome.released,
        orphans=outcome.orphans,
        again_s=outcome.again_ms / 1000,
    )


def verified(partition: str, found: Verification) -> objects.VerifyReport:
    """Return the answer to verify."""
    return objects.VerifyReport.of(
        partition=partition,
        epoch=found.epoch,
        position=found.position,
        claims=dict(found.claims),
        providers=found.providers,
        problems=list(found.problems),
        excess=[dict(one) for one in found.excess],
        awaited=list(found.awaited),
    )


def host_state(namespace: str, held: Held) -> objects.HostState:
    """Return one document of host state."""
    name, version, document = held.state
    return objects.HostState.of(
        namespace=namespace, name=name, version=version, document=document, partition=held.partition
    )


def partitions(overviews: Sequence[Overview]) -> objects.PartitionList:
    """Return the answer to list_partitions."""
    return objects.PartitionList.of(
        names=[each.name for each in overviews],
        available=[each.available for each in overviews],
        epochs=[each.epoch for each in overviews],
        positions=[each.position for each in overviews],
        hosts=[each.hosts for each in overviews],
        alive=[each.alive for each in overviews],
        claims=[None if each.claims is None else dict(each.claims) for each in overviews],
    )


def decisions(partition: str, found: Sequence[tuple[str, dict[str, Any]]], marker: str | None) -> objects.DecisionPage:
    """Return a page of recorded decisions."""
    page = [
        objects.Decision.of(request_id=request_id, partition=partition, document=document)
        for request_id, document in found
    ]
    return objects.DecisionPage.of(decisions=page, marker=marker)


def filters(worker: str, found: Sequence[Listed]) -> objects.FilterList:
    """Return the answer to list_filters."""
    return objects.FilterList.of(
        worker=worker,
        names=[each.name for each in found],
        kinds=[each.kind for each in found],
        forms=[each.form for each in found],
        sources=[each.source for each in found],
        enabled=[each.enabled for each in found],
        reads=[{namespace: sorted(keys) for namespace, keys in each.reads.items()} for each in found],
        calls=[each.figures.calls for each in found],
        errors=[each.figures.errors for each in found],
        seconds=[each.figures.seconds for each in found],
        hosts=[each.figures.hosts for each in found],
        last_errors=[each.figures.last_error for each in found],
    )


def _reason(answer: Answer) -> str:
    return _SENTENCES.get(answer, "")


def _may_change(one: Prepared, current: bool) -> bool:
    if one.answer is not Answer.REFUSED:
        return False
    # One that a host would have taken was refused for the others' sake: its own hosts are not in the way.
    return not current or (Verdict.CLOSED in one.verdicts and Verdict.FITS not in one.verdicts)


def _refusal(intent: Intent, verdicts: Sequence[Verdict], current: bool) -> str:
    if not current:
        return "the store has begun a new epoch"
    said = [f"{each.host}: {verdict}" for each, verdict in zip(intent.candidates, verdicts, strict=False)]
    return ", ".join(said) or "no candidate is left"
