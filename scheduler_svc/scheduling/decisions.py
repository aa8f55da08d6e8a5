# SPDX-License-Identifier: Apache-2.0
"""Construction of claim batches and decision records from a ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_log import log

from rpcapi import errors
from rpcapi.validation.moves import NO_MOVE
from scheduler_svc.core.records import UNLIMITED, Allocations, Candidate, ClaimBatch, Intent
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.interfaces import DecisionStore
from scheduler_svc.scheduling.pending_call import PendingCall
from scheduler_svc.scheduling.ranking import RankingSnapshot
from scheduler_svc.store.validation import MAX_BATCH_CANDIDATES, MAX_BATCH_PROVIDERS

LOG = log.getLogger(__name__)


def claim_batch(
    pending: PendingCall,
    snapshot: RankingSnapshot,
    log_position: LogPosition,
    *,
    last_contact_s: float,
    ttl_ms: int,
    round_index: int = 0,
    round_size: int = 1,
) -> ClaimBatch:
    """Build the claim batch of a call's current try, with its decision record.

    Args:
        log_position: State on which the decision was made.
        last_contact_s: Seconds since the store last answered.
        round_index: Index of the call among the ``round_size`` calls of its round.
    """
    call, ranking = pending.call, snapshot.ranking
    consumers = call.consumers
    allocations_by_host = ranking.allocations or [{}] * len(consumers)
    # Send even a batch without candidates: the store may know the attempt, and it stores the record.
    ranked = ranking.candidates or [()] * len(consumers)
    candidates = {
        name: Candidate(
            name,
            sums_position=snapshot.claimed_positions.get(name, 0),
            limits=snapshot.claim_limits.get(name, UNLIMITED),
        )
        for names in ranked
        for name in names
    }
    most = _max_candidates(len(consumers), allocations_by_host)
    record = _document(pending, snapshot, log_position, last_contact_s)
    if round_size > 1:
        record["round"] = {"index": round_index, "calls": round_size}
    return ClaimBatch(
        request_id=call.request.id,
        project=(call.request.project if call.final else call.ctxt.project_id) or "",
        user=(call.request.user if call.final else call.ctxt.user_id) or "",
        resources=call.request.resources,
        intents=[
            Intent(
                consumer,
                call.attempt,
                [_with_allocations(candidates[name], host_allocations) for name in names[:most]],
                near=ranking.near,
                migration=move.migration,
                source_attempt=move.source_attempt,
            )
            for consumer, names, host_allocations, move in zip(
                consumers, ranked, allocations_by_host, call.moves or [NO_MOVE] * len(consumers), strict=True
            )
        ],
        epoch=log_position.epoch,
        position=log_position.position,
        ttl_ms=ttl_ms,
        consumer_type=call.consumer_type,
        group=call.request.group,
        group_generation=call.request.decision.group_generation,
        group_members=call.request.group_members,
        alternates=call.alternates,
        record=record,
        fresh=call.fresh,
        final=call.final,
    )


def _document(
    pending: PendingCall, snapshot: RankingSnapshot, log_position: LogPosition, last_contact_s: float
) -> dict[str, Any]:
    ranking, lost_candidates = snapshot.ranking, pending.lost_candidates
    return document_header(pending.call, log_position, pending.policy.driver_name(pending.request)) | {
        "seed": snapshot.seed,
        "retry": pending.retry,
        "hosts": ranking.hosts,
        "reasons": dict(ranking.reasons),
        "best": list(ranking.best),
        "seconds_since_contact": round(last_contact_s, 3),
        **({"lost": [[name, str(verdict)] for name, verdict in lost_candidates.items()]} if lost_candidates else {}),
        **({"ahead": ahead} if (ahead := _latest_own_claim(snapshot)) else {}),
        **({"ranked": snapshot.shared._asdict()} if snapshot.shared else {}),
        **({"planned": list(snapshot.planned)} if snapshot.planned else {}),
        **({"samples": dict(snapshot.samples)} if snapshot.samples else {}),
        **({"batch": dict(ranking.batch)} if ranking.batch is not None else {}),
    }


def _latest_own_claim(snapshot: RankingSnapshot) -> int:
    positions = snapshot.claimed_positions
    names = {name for names in snapshot.ranking.candidates for name in names} if positions else ()
    return max((positions[name] for name in names if name in positions), default=0)


def refusal_document(
    call: SelectionCall, log_position: LogPosition, driver: str, error: errors.GanttError
) -> dict[str, Any]:
    refusal = {"hosts": 0, "reasons": {}, "best": [], "verdicts": [], "outcome": "refused", "why": error.sentence}
    return document_header(call, log_position, driver) | refusal


def record_refusal(
    store: DecisionStore, call: SelectionCall, log_position: LogPosition, driver: str, error: errors.GanttError
) -> None:
    """Record a refusal that needed no ranking. If the store is unavailable, only log that."""
    try:
        store.record_decision(call.request.id, refusal_document(call, log_position, driver, error))
    except errors.Unavailable as failure:
        # The caller needs the refusal, not the store's error.
        LOG.warning("Cannot record the refusal of request %s: %s", call.request.id, failure)


def _max_candidates(count: int, allocations_by_host: Sequence[Mapping[str, Allocations]]) -> int:
    widest = max((len(allocations) for by_host in allocations_by_host for allocations in by_host.values()), default=1)
    return max(1, min(MAX_BATCH_CANDIDATES // count, MAX_BATCH_PROVIDERS // (count * widest)))


def _with_allocations(candidate: Candidate, allocations: Mapping[str, Allocations]) -> Candidate:
    return replace(candidate, allocations=allocations[candidate.host]) if candidate.host in allocations else candidate


def document_header(call: SelectionCall, log_position: LogPosition, driver: str) -> dict[str, Any]:
    """Return the fields that all decision records have: driver, log position, request, and project if any."""
    return {
        **({"project": call.request.project} if call.request.project else {}),
        "driver": driver,
        "epoch": log_position.epoch,
        "position": log_position.position,
        "instances": len(call.consumers),
        "spec": call.request.as_dict(),
    }
