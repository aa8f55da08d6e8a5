# SPDX-License-Identifier: Apache-2.0
"""RPC methods that select hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.validation.instances import check_uuids
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.request import FilterScope, SchedulingRequest
from scheduler_svc.endpoints import batches, decode, encode
from scheduler_svc.endpoints.metered import SchedulerEndpoint
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.dry_run import DryRun
from scheduler_svc.scheduling.intake import RequestIntake
from scheduler_svc.scheduling.server_groups import ServerGroups
from scheduler_svc.store import validation

DRY_RUN_SCOPES = (FilterScope.ALL, FilterScope.REBUILD)


class SelectionEndpoint(SchedulerEndpoint):
    def __init__(
        self, intake: RequestIntake, dry_run: DryRun, groups: ServerGroups, *, max_instances: int, max_requests: int
    ) -> None:
        """``max_instances`` limits every call, ``max_requests`` the requests of a select_batch call."""
        self._intake = intake
        self._groups = groups
        self._dry_run = dry_run
        self._max_instances = max_instances
        self._max_requests = max_requests

    @expose
    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        attempt: int = 1,
        alternates: int = 2,
        *,
        fresh: bool = False,
        moves: Sequence[Mapping[str, Any] | None] = (),
    ) -> objects.Selections:
        check_uuids(uuids, self._max_instances)
        validation.check_number("attempt", attempt, 1, validation.MAX_NUMBER)
        validation.check_number("alternates", alternates, 0, MAX_CANDIDATES - 1)
        request = self._request(ctxt, spec)
        ends = decode.moves(moves, len(uuids))
        call = SelectionCall(ctxt, request, uuids, attempt, alternates, spec.consumer_type, fresh=fresh, moves=ends)
        return encode.selections(attempt, self._intake.select(call))

    @expose
    def select_batch(
        self, ctxt: RequestContext, requests: objects.SelectionRequests, *, details: bool = False
    ) -> objects.SelectionAnswers:
        calls = batches.decode_calls(
            ctxt, requests, self._request, max_requests=self._max_requests, max_instances=self._max_instances
        )
        return batches.answers(requests.attempts, self._intake.select_batch(calls), details=details)

    @expose
    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = FilterScope.ALL
    ) -> objects.Decision:
        validation.check_number("count", count, 1, self._max_instances)
        if scope not in DRY_RUN_SCOPES:
            raise errors.InvalidRequest(
                why=f"unknown scope {str(scope)[:40]!r} of a dry run; known: {', '.join(DRY_RUN_SCOPES)}"
            )
        request = replace(self._request(ctxt, spec, creates_group=False), scope=FilterScope(scope))
        partition, document = self._dry_run.decide(ctxt, request, count)
        return objects.Decision.of(request_id=ctxt.request_id, partition=partition, document=document)

    def _request(
        self, ctxt: RequestContext, spec: objects.RequestSpec, *, creates_group: bool = True
    ) -> SchedulingRequest:
        return decode.request(ctxt, self._groups.complete(spec, ctxt.project_id or "", creates=creates_group))
