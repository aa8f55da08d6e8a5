# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: records decisions beside another, active scheduler; claims nothing."""

from collections.abc import Sequence
from typing import Any, NoReturn

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, ClaimBatch
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionResult
from scheduler_svc.scheduling.claimer import StoreClaimer, accept_first_candidates

SHADOW = "shadow"  # the outcome, and the answer for each consumer


class ShadowClaimer(StoreClaimer):
    """Accepts the first candidate of each instance and records the decision; the store gets no claims."""

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Record the batches as if they had been claimed; raises StoreUnavailable."""
        return BatchOutcomes([self._prepare(batch) for batch in batches])

    def _prepare(self, batch: ClaimBatch) -> BatchAnswer:
        answer = accept_first_candidates(batch)
        verdicts: list[dict[str, Any]] = [
            {
                "consumer": result.consumer,
                "answer": SHADOW if answer.accepted else str(result.answer),
                "host": result.host,
                "tried": [],
            }
            for result in answer.prepared
        ]
        shadow_fields = {
            "mode": SHADOW,
            "outcome": SHADOW if answer.accepted else "refused",
            "answered_position": batch.position,
            "verdicts": verdicts,
        }
        self.record_decision(batch.request_id, {**(batch.record or {}), **shadow_fields})
        return answer

    def conclude(self, call: SelectionCall, result: SelectionResult) -> RefusedCall:
        """Return NotClaimed with the selected hosts as the call's error."""
        hosts = [str(prepared.host) for prepared in result.prepared]
        return RefusedCall(errors.NotClaimed(request_id=call.request.id, hosts=hosts), hosts=0, reasons={})


class ShadowAlternateClaimer(AlternateClaimer):
    """Refuses to claim alternates."""

    def prepare(self, ctxt: RequestContext, request: SchedulingRequest, batch: ClaimBatch) -> NoReturn:
        """Raise NotClaimed."""
        raise errors.NotClaimed(request_id=batch.request_id, hosts=[])
