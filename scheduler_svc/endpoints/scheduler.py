# SPDX-License-Identifier: Apache-2.0
"""Endpoint of topic ``scheduler``: selections, reports and host state."""

from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.resources import names
from rpcapi.validation.instances import check_uuids
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.timings import FILTER, WEIGHER
from scheduler_svc.endpoints import batches, bounds, decode, encode
from scheduler_svc.endpoints.observed import MeteredEndpoint
from scheduler_svc.host_state.aggregates import AggregateWriter
from scheduler_svc.host_state.arrivals import HostReportRouter
from scheduler_svc.host_state.deployment import DeploymentStates
from scheduler_svc.host_state.reports import check_nodes
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.dry_run import DryRun
from scheduler_svc.scheduling.extensions import CatalogueEntry
from scheduler_svc.scheduling.intake import RewritingSelector
from scheduler_svc.store.records import HostReport

GetReportedKeys = Callable[[], list[str] | None]  # node state keys that agents must report; None: all
ListFiltersFunction = Callable[
    [str | None], Sequence[CatalogueEntry]
]  # filters and weighers in use, of one kind or all


class SchedulerEndpoint(MeteredEndpoint):
    """Endpoint of rpcapi.clients.scheduler.SchedulerAPI, which documents each method."""

    target = messaging.Target(version=SchedulerAPI.VERSION)

    def __init__(
        self,
        partitions: OpenPartitions,
        *,
        selector: RewritingSelector,
        states: DeploymentStates,
        aggregates: AggregateWriter,
        get_reported_keys: GetReportedKeys,
        max_instances: int,
        max_requests: int,
        dry_run: DryRun,
        filters: ListFiltersFunction,
        worker: str,
    ) -> None:
        self._partitions = partitions
        self._report_router = HostReportRouter(partitions)
        self._selector = selector
        self._states = states
        self._aggregates = aggregates
        self._get_reported_keys = get_reported_keys
        self._max_instances = max_instances
        self._max_requests = max_requests
        self._dry_run = dry_run
        self._filters = filters
        self._worker = worker

    @expose
    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        attempt: int = 1,
        alternates: int = 2,
    ) -> objects.Selections:
        """Select and claim a host for each uuid, all or none."""
        check_uuids(uuids, self._max_instances)
        bounds.check("attempt", attempt, 1)
        bounds.check("alternates", alternates, 0, MAX_CANDIDATES - 1)
        request = decode.request(ctxt, spec)
        call = SelectionCall(request, uuids, attempt, alternates, spec.consumer_type)
        return encode.selections(attempt, self._selector.select(ctxt, call))

    @expose
    def select_batch(self, ctxt: RequestContext, requests: objects.SelectionRequests) -> objects.SelectionAnswers:
        """Select and claim hosts for several requests together."""
        return batches.select(
            ctxt, requests, self._selector, max_requests=self._max_requests, max_instances=self._max_instances
        )

    @expose
    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        """Apply the report of a service host."""
        host = _service_host(name)
        bounds.check("incarnation", stats.incarnation, 1)
        bounds.check("sequence", stats.sequence, 1)
        bounds.check("base", stats.base, 0, stats.sequence - 1)
        report = HostReport(
            incarnation=stats.incarnation,
            sequence=stats.sequence,
            base=stats.base,
            full=stats.full,
            nodes=check_nodes(host, stats.nodes, stats.full),
        )
        outcome = self._report_router.update_stats(host, stats.partition, report)
        return objects.StatsAnswer.of(
            sequence=stats.sequence,
            need_full=outcome.need_full,
            epoch=outcome.epoch,
            audit=outcome.audit,
            wanted=self._get_reported_keys(),
        )

    @expose
    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
        """Return one document."""
        return encode.host_state(namespace, self._states.get(namespace, names.canonical(name)))

    @expose
    def list_host_state(
        self,
        ctxt: RequestContext,
        namespace: str,
        marker: str | None = None,
        limit: int = 1000,
        *,
        matching: dict[str, Any] | None = None,
        partition: str | None = None,
    ) -> objects.HostStatePage:
        """Return a page of documents."""
        bounds.check_page(marker, limit)
        documents, next_marker = self._states.list(namespace, marker, limit, matching, partition)
        states = [encode.host_state(namespace, document) for document in documents]
        return objects.HostStatePage.of(states=states, marker=next_marker)

    @expose
    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        """Merge changes of the declared writer into a document."""
        if not isinstance(state.document, dict):
            raise errors.MalformedObject(name="HostState", why="its document must be a mapping")
        bounds.check("version", state.version, 0)
        name = names.canonical(state.name)
        updated = self._states.update(
            state.namespace, name, state.version, state.document, writer=writer, partition=state.partition
        )
        return encode.host_state(state.namespace, updated)

    @expose
    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        """Delete a document of the declared writer."""
        bounds.check("version", version, 0)
        self._states.delete(namespace, names.canonical(name), version, writer)

    @expose
    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]]) -> None:
        """Create or replace aggregates."""
        self._aggregates.update(aggregates)

    @expose
    def delete_aggregate(self, ctxt: RequestContext, name: str, version: int | str | None = None) -> None:
        """Delete an aggregate."""
        self._aggregates.delete(name, version)

    @expose
    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        """Remove a service host."""
        self._report_router.remove(_service_host(host))

    @expose
    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        """Return a summary of all partitions."""
        return encode.partitions([partition.overview() for partition in self._partitions])

    @expose
    def report_service(self, ctxt: RequestContext, binary: str, host: str) -> None:
        """Record the heartbeat of a service without nodes."""
        self._partitions.own.store.heartbeat(_service_host(host), _service_host(binary))

    @expose
    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        """Return the record of a decision."""
        partition, document = self._partitions.find_decision(request_id)
        return objects.Decision.of(request_id=request_id, partition=partition.name, document=document)

    @expose
    def dry_run(self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1) -> objects.Decision:
        """Return the decision for a request without claiming."""
        bounds.check("count", count, 1, self._max_instances)
        partition, document = self._dry_run.decide(ctxt, decode.request(ctxt, spec), count)
        return objects.Decision.of(request_id=ctxt.request_id, partition=partition, document=document)

    @expose
    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        """Return the filters and weighers of this worker."""
        if kind not in (None, FILTER, WEIGHER):
            raise errors.InvalidRequest(why=f"kind must be {FILTER} or {WEIGHER}, got {str(kind)[:40]!r}")
        return encode.filters(self._worker, self._filters(kind))

    @expose
    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        """Return a page of recorded decisions."""
        bounds.check_page(marker, limit)
        target = self._partitions.find(partition)
        rows, next_marker = target.store.list_decisions(marker, limit)
        return encode.decisions(target.name, rows, next_marker)


def _service_host(name: names.ResourceName) -> str:
    """Return the canonical name; raises InvalidName for the name of a node."""
    canonical = names.canonical(name)
    if names.SEPARATOR in canonical:
        raise errors.InvalidName(name=canonical, why="it must name a service, not one of its nodes")
    return canonical
