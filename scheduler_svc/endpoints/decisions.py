# SPDX-License-Identifier: Apache-2.0
"""RPC methods that explain decisions."""

from collections.abc import Callable, Sequence

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from scheduler_svc.core.timings import FILTER, WEIGHER
from scheduler_svc.endpoints import encode
from scheduler_svc.endpoints.metered import SchedulerEndpoint
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.scheduling.extensions import CatalogueEntry

ListFilters = Callable[[str | None], Sequence[CatalogueEntry]]  # argument: kind, or None for filters and weighers


class DecisionsEndpoint(SchedulerEndpoint):
    def __init__(self, partitions: OpenPartitions, list_filters: ListFilters, worker: str) -> None:
        self._partitions = partitions
        self._list_filters = list_filters
        self._worker = worker

    @expose
    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        partition, document = self._partitions.find_decision(request_id, ctxt.project_id)
        if ctxt.sender_project is not None and document.get("project") != ctxt.sender_project:
            raise errors.CallerRefused(
                caller=f"a client of project {ctxt.sender_project!r}",
                service="scheduler",
                method="explain",
                why=f"request {request_id} belongs to another project",
            )
        return objects.Decision.of(request_id=request_id, partition=partition.name, document=document)

    @expose
    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        target = self._partitions.find(partition)
        rows, next_marker = target.store.list_decisions(marker, limit)
        return encode.decisions(target.name, rows, next_marker)

    @expose
    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        if kind not in (None, FILTER, WEIGHER):
            raise errors.InvalidRequest(why=f"kind must be {FILTER} or {WEIGHER}, got {str(kind)[:40]!r}")
        return encode.filters(self._worker, self._list_filters(kind))

    @expose
    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        return encode.partitions(list(self._partitions))
