# SPDX-License-Identifier: Apache-2.0
"""Decisions of a shadow, with what was said about every host."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.filtering.survey import HostSurvey
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.claimer import DecisionStore
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot, rank_hosts
from scheduler_svc.scheduling.replica_view import ReplicaView
from scheduler_svc.scheduling.selector import RetryLimits, Selector
from scheduler_svc.scheduling.shadow import ShadowClaimer

ONCE = RetryLimits(max_tries=1)


class DocumentedShadowClaimer(ShadowClaimer):
    """Keeps the last decision record that it wrote; None before the first."""

    def __init__(self, store: DecisionStore) -> None:
        super().__init__(store)
        self.document: Mapping[str, Any] | None = None

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Store a decision record."""
        self.document = document
        super().record_decision(request_id, document)


class SurveyingSelector(Selector):
    """Decides one call in shadow mode, and keeps its last ``survey``; None where no hosts were ranked."""

    def __init__(self, store: DecisionStore, replica: ReplicaView) -> None:
        self.documented = DocumentedShadowClaimer(store)
        super().__init__(self.documented, replica, ONCE)
        self.survey: HostSurvey | None = None

    def take_snapshot(
        self,
        policy: SchedulingPolicy,
        request: SchedulingRequest,
        count: int,
        salt: int = 0,
        *,
        explains: bool = False,
    ) -> RankingSnapshot:
        """Rank and survey hosts on the same view."""
        with self._replica.table.reading() as view:
            self.survey = failing_hosts.decide(view, lambda view: policy.driver.survey(view, request))
            return rank_hosts(policy, view, request, count, request.seed ^ salt, explains=explains)
