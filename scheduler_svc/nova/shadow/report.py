# SPDX-License-Identifier: Apache-2.0
"""Report to operators on a shadow of nova-scheduler."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum

from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.nova.shadow.comparison import AGREEMENTS, ShadowComparison, ShadowOutcome, refusal_text
from scheduler_svc.nova.shadow.decisions import ShadowDecision
from scheduler_svc.shadow_report import ShadowReport
from scheduler_svc.store.interface import Store

LOG = log.getLogger(__name__)

INTERVAL_SECONDS = 60.0  # interval of summaries


class Skipped(StrEnum):
    LATE = "late"  # Nova had claimed hosts before gantt's decision
    OVERFLOW = "overflow"  # too many pending comparisons
    UNCLAIMED = "unclaimed"  # Nova claims nothing for such a request, so its choice is invisible
    INVALID = "invalid"  # gantt cannot read the request
    UNAVAILABLE = "unavailable"  # the store was unreachable
    STOPPED = "stopped"


class NovaShadowReport(ShadowReport):
    """Reporter of comparisons in log, metrics and decision records. Thread-safe."""

    def __init__(self, store: Store) -> None:
        super().__init__(INTERVAL_SECONDS)
        self._store = store

    def skip(self, why: Skipped) -> None:
        self.count(metrics.NOVA_SHADOW_SKIPPED, why, title="not compared, ")

    def add(self, decision: ShadowDecision, comparisons: Sequence[ShadowComparison], others: int) -> None:
        """Report a request's comparisons; ``others`` decisions were pending when it was decided."""
        for comparison in comparisons:
            self.count(metrics.NOVA_SHADOW_INSTANCES, comparison.outcome)
            if comparison.outcome not in AGREEMENTS:
                self.warn("%s", _line(decision, comparison, others))
        document = {
            **decision.document,
            "nova": {"pending": others, "instances": [asdict(comparison) for comparison in comparisons]},
        }
        try:
            self._store.record_decision(decision.request_id, document)
        except errors.Unavailable as error:
            LOG.warning("Cannot record the comparison of request %s: %s", decision.request_id, error)


def _line(decision: ShadowDecision, comparison: ShadowComparison, others: int) -> str:
    counted = refusal_text(decision)
    parts = [
        f"Nova chose {comparison.nova_host}" if comparison.nova_host else "Nova refused",
        f"gantt chose {comparison.gantt_host}" if comparison.gantt_host else "gantt refused",
    ]
    if comparison.outcome in (ShadowOutcome.REFUSED_HOST, ShadowOutcome.REFUSED_BY_GANTT):
        parts.append(f"gantt refuses Nova's host: {comparison.why}")
    elif comparison.why:
        parts.append(f"Nova's host is {comparison.why} for gantt")
    parts += [f"hosts that gantt refused: {counted}"] if counted else []
    parts += [f"decided while {others} others were pending"] if others else []
    return f"Shadow of {decision.request_id}, {comparison.consumer}: {comparison.outcome}: {'; '.join(parts)}"
