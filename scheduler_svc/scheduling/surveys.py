# SPDX-License-Identifier: Apache-2.0
"""Shadow decisions with a verdict on every host."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.filtering.survey import HostSurvey
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.interfaces import ClaimStore, ReplicaView
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import RankingSnapshot, SchedulingPolicy
from scheduler_svc.scheduling.shadow import ShadowStore

ONCE = SchedulingLimits(max_tries=1)


class SurveyingScheduler(PartitionScheduler):
    """Scheduler of one call in shadow mode. It keeps the last survey and decision record."""

    def __init__(self, store: ClaimStore, replica: ReplicaView) -> None:
        self._claim_store = store
        super().__init__(ShadowStore(store, self._record), replica, ONCE)
        self.survey: HostSurvey | None = None
        self.document: Mapping[str, Any] | None = None

    def _record(self, request_id: str, document: Mapping[str, Any]) -> None:
        self.document = document
        self._claim_store.record_decision(request_id, document)

    def take_snapshot(
        self, policy: SchedulingPolicy, request: SchedulingRequest, *arguments: Any, **options: Any
    ) -> RankingSnapshot:
        with self._replica.table.reading() as view:
            self.survey = failing_hosts.decide(view, lambda view: policy.driver_for(request).survey(view, request))
            return super().take_snapshot(policy, request, *arguments, **options)
