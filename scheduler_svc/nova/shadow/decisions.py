# SPDX-License-Identifier: Apache-2.0
"""Decisions on Nova's calls in shadow mode."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.core.filtering.survey import HostSurvey
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.nova.bus import request_spec
from scheduler_svc.nova.bus.exceptions import NovaError
from scheduler_svc.nova.bus.host_chooser import HostChooser, NovaOptions
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.intake import RequestIntake, RequestRewriter
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import CurrentPolicy, RankingSnapshot, SchedulingPolicy, rank_hosts
from scheduler_svc.scheduling.shadow import SHADOW, ShadowStore
from scheduler_svc.scheduling.unclaimed import UnclaimedRanker

ONCE = SchedulingLimits(max_tries=1)


@dataclass(frozen=True, slots=True)
class ShadowDecision:
    """Answer that gantt would have given."""

    request_id: str
    consumers: Sequence[str]
    hosts: Sequence[str]  # table name of each consumer's host; empty if refused
    why: str
    ignored: frozenset[str]  # service hosts that the request excludes, such as an evacuation's source
    survey: HostSurvey | None  # None if no hosts were ranked
    document: Mapping[str, Any]  # decision record


class ShadowScheduler:
    """Scheduler that decides with a worker's table and policy, without claims. Thread-safe."""

    def __init__(
        self,
        current: CurrentPolicy,
        partitions: OpenPartitions,
        rewriter: RequestRewriter,
        ranker: UnclaimedRanker,
        options: NovaOptions,
    ) -> None:
        self._current = current
        self._partitions = partitions
        self._rewriter = rewriter
        self._ranker = ranker
        self._options = options

    def decide(self, ctxt: RequestContext, spec: Any, uuids: Sequence[str]) -> ShadowDecision | None:
        """Decide a request; return None for a rebuild, for which Nova claims nothing.

        Raises MalformedObject, IncompatibleObject or InvalidSpec for an invalid request, and StoreUnavailable or
        NotReady if no decision is possible.
        """
        request = request_spec.translate(spec)
        if request.is_rebuild:
            return None
        own = self._partitions.own
        surveys: list[HostSurvey] = []
        documents: list[Mapping[str, Any]] = []

        def rank(
            policy: SchedulingPolicy, view: View, request: SchedulingRequest, *values: Any, **options: Any
        ) -> RankingSnapshot:
            surveys.append(failing_hosts.decide(view, lambda view: policy.driver_for(request).survey(view, request)))
            return rank_hosts(policy, view, request, *values, **options)

        def record(request_id: str, document: Mapping[str, Any]) -> None:
            documents.append(document)
            own.store.record_decision(request_id, document)

        scheduler = PartitionScheduler(ShadowStore(own.store, record), own.replica, ONCE, rank)
        intake = RequestIntake(self._current, scheduler, self._rewriter, self._partitions)
        # The scheduler that serves Nova records server groups; the shadow takes the request's policy as it is.
        nova_scheduler = HostChooser(
            intake, self._ranker, lambda: own.replica.table, lambda spec, _project: spec, self._options
        )
        hosts, why = _answer(lambda: nova_scheduler.select(ctxt, spec, uuids, with_alternates=False))
        survey = surveys[-1] if surveys else None
        document = documents[-1] if documents else _refusal(len(uuids), why)
        ignored = frozenset(request.spec.ignore_hosts or ())
        return ShadowDecision(ctxt.request_id, tuple(uuids), hosts, why, ignored, survey, document)


def _answer(select: Callable[[], object]) -> tuple[Sequence[str], str]:
    try:
        select()
    except errors.NotClaimed as decided:
        return tuple(decided.hosts), ""
    except (errors.StoreUnavailable, errors.NotReady):
        raise
    except (errors.GanttError, NovaError) as refusal:
        return (), str(refusal)
    raise AssertionError("a selection in shadow mode has claimed hosts")


def _refusal(instances: int, why: str) -> Mapping[str, Any]:
    empty: dict[str, Any] = {"spec": {}, "hosts": 0, "reasons": {}, "best": [], "verdicts": []}
    return {**empty, "mode": SHADOW, "outcome": "refused", "instances": instances, "why": why}
