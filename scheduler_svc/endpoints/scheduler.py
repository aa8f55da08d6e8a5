# SPDX-License-Identifier: Apache-2.0
"""Topic ``scheduler``: decisions, reports and host state."""

from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import exposed
from rpcapi.model import names
from rpcapi.model.request import check_uuids
from rpcapi.scheduler import SchedulerAPI
from scheduler_svc.deciding.asked import Asked
from scheduler_svc.deciding.dry_run import DryRun
from scheduler_svc.deciding.partitioned import Chooser
from scheduler_svc.drivers.driver import WIDTH
from scheduler_svc.endpoints import batches, bounds, decode, encode
from scheduler_svc.endpoints.observed import Observed
from scheduler_svc.hosts.aggregates import Aggregates
from scheduler_svc.hosts.arrivals import Arrivals
from scheduler_svc.hosts.deployment_states import DeploymentStates
from scheduler_svc.hosts.stats import check_nodes
from scheduler_svc.partitions import Partitions
from scheduler_svc.plugins.catalogue import Listed
from scheduler_svc.plugins.figures import FILTER, WEIGHER

Wanted = Callable[[], list[str] | None]  # the keys of a node's state that decisions read now; None: any
Filters = Callable[[str | None], Sequence[Listed]]  # what this worker decides by, of one kind or all


class SchedulerEndpoint(Observed):
    """What rpcapi.scheduler.SchedulerAPI calls; its docstrings say what each method does and raises."""

    target = messaging.Target(version=SchedulerAPI.VERSION)

    def __init__(
        self,
        partitions: Partitions,
        *,
        selector: Chooser,
        states: DeploymentStates,
        aggregates: Aggregates,
        wanted: Wanted,
        most_instances: int,
        most_requests: int,
        dry_run: DryRun,
        filters: Filters,
        worker: str,
    ) -> None:
        self._partitions = partitions
        self._arrivals = Arrivals(partitions)
        self._selector = selector
        self._states = states
        self._aggregates = aggregates
        self._wanted = wanted
        self._most = most_instances
        self._most_requests = most_requests
        self._dry_run = dry_run
        self._filters = filters
        self._worker = worker

    @exposed
    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        attempt: int = 1,
        alternates: int = 2,
    ) -> objects.Selections:
        """Choose and claim a host for each uuid, all or none."""
        check_uuids(uuids, self._most)
        bounds.check("attempt", attempt, 1)
        bounds.check("alternates", alternates, 0, WIDTH - 1)
        request = decode.request(ctxt, spec)
        self._selector.driver.check(request)
        asked = Asked(request, uuids, attempt, alternates, spec.consumer_type)
        return encode.selections(attempt, self._selector.select(ctxt, asked))

    @exposed
    def select_batch(self, ctxt: RequestContext, requests: objects.SelectionRequests) -> objects.SelectionAnswers:
        """Choose and claim for many requests at once."""
        return batches.select(ctxt, requests, self._selector, most=self._most_requests, most_instances=self._most)

    @exposed
    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        """Take a service host's report."""
        host = _service_host(name)
        bounds.check("incarnation", stats.incarnation, 1)
        bounds.check("sequence", stats.sequence, 1)
        bounds.check("base", stats.base, 0, stats.sequence - 1)
        nodes = check_nodes(host, stats.nodes, stats.full)
        outcome = self._arrivals.update_stats(
            host,
            stats.partition,
            incarnation=stats.incarnation,
            sequence=stats.sequence,
            base=stats.base,
            full=stats.full,
            nodes=nodes,
        )
        return objects.StatsAnswer.of(
            sequence=stats.sequence,
            need_full=outcome.need_full,
            epoch=outcome.epoch,
            audit=outcome.audit,
            wanted=self._wanted(),
        )

    @exposed
    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
        """Return one document."""
        return encode.host_state(namespace, self._states.get(namespace, names.canonical(name)))

    @exposed
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
        found, following = self._states.list(namespace, marker, limit, matching, partition)
        states = [encode.host_state(namespace, held) for held in found]
        return objects.HostStatePage.of(states=states, marker=following)

    @exposed
    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        """Merge what the declared writer changes."""
        if not isinstance(state.document, dict):
            raise errors.MalformedObject(name="HostState", why="its document must be a mapping")
        bounds.check("version", state.version, 0)
        name = names.canonical(state.name)
        updated = self._states.update(
            state.namespace, name, state.version, state.document, writer=writer, partition=state.partition
        )
        return encode.host_state(state.namespace, updated)

    @exposed
    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        """Delete what the declared writer put there."""
        bounds.check("version", version, 0)
        self._states.delete(namespace, names.canonical(name), version, writer)

    @exposed
    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]]) -> None:
        """Replace aggregates whole."""
        self._aggregates.update(aggregates)

    @exposed
    def delete_aggregate(self, ctxt: RequestContext, name: str, version: int | str | None = None) -> None:
        """Delete an aggregate."""
        self._aggregates.delete(name, version)

    @exposed
    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        """Forget a service host."""
        self._arrivals.remove(_service_host(host))

    @exposed
    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        """Return what this worker sees of all partitions."""
        return encode.partitions([each.look() for each in self._partitions])

    @exposed
    def report_service(self, ctxt: RequestContext, binary: str, host: str) -> None:
        """Note that a service without nodes lives."""
        self._partitions.own.store.heartbeat(_service_host(host), _service_host(binary))

    @exposed
    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        """Return the record of a decision."""
        partition, document = self._partitions.find_decision(request_id)
        return objects.Decision.of(request_id=request_id, partition=partition.name, document=document)

    @exposed
    def dry_run(self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1) -> objects.Decision:
        """Return the decision of a request that nobody makes."""
        bounds.check("count", count, 1, self._most)
        partition, document = self._dry_run.decide(decode.request(ctxt, spec), count)
        return objects.Decision.of(request_id=ctxt.request_id, partition=partition, document=document)

    @exposed
    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        """Return what this worker decides by."""
        if kind not in (None, FILTER, WEIGHER):
            raise errors.InvalidRequest(why=f"kind must be {FILTER} or {WEIGHER}, not {str(kind)[:40]!r}")
        return encode.filters(self._worker, self._filters(kind))

    @exposed
    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        """Return a page of recorded decisions."""
        bounds.check_page(marker, limit)
        asked = self._partitions.find(partition)
        found, following = asked.store.list_decisions(marker, limit)
        return encode.decisions(asked.name, found, following)


def _service_host(name: names.ResourceName) -> str:
    """Return a name that must be a service's, not a node's."""
    canonical = names.canonical(name)
    if names.SEPARATOR in canonical:
        raise errors.InvalidName(name=canonical, why="a service is meant, not one of its nodes")
    return canonical
