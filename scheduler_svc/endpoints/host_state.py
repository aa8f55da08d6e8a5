# SPDX-License-Identifier: Apache-2.0
"""Endpoint for the state of hosts and services."""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.resources import names
from scheduler_svc import metrics
from scheduler_svc.core.namespaces.built_in import SCHEDULER
from scheduler_svc.endpoints import encode
from scheduler_svc.endpoints.metered import SchedulerEndpoint
from scheduler_svc.host_state import report_router
from scheduler_svc.host_state.aggregates import AggregateWriter
from scheduler_svc.host_state.documents import HostStates
from scheduler_svc.host_state.reports import check_nodes, drop_refused_facts
from scheduler_svc.host_state.service_versions import check_versions, oldest_versions, register_versions, report_service
from scheduler_svc.host_state.stamps import CONDUCTORS, StampSigner
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.store import validation
from scheduler_svc.store.records import MAX_CLOCK_OFFSET_MS, HostReport
from scheduler_svc.store.registrations import MAX_INCARNATION
from scheduler_svc.store.reports import COMPUTE, service_name

LOG = log.getLogger(__name__)

CATALOG_KINDS = ("flavor", "image")  # namespaces without project data, readable by every client

GetReportedKeys = Callable[[], list[str] | None]  # node state keys that agents must report; None: all


class HostStateEndpoint(SchedulerEndpoint):
    def __init__(
        self,
        partitions: OpenPartitions,
        states: HostStates,
        aggregates: AggregateWriter,
        get_reported_keys: GetReportedKeys,
        stamps: StampSigner,
    ) -> None:
        self._partitions = partitions
        self._states = states
        self._aggregates = aggregates
        self._get_reported_keys = get_reported_keys
        self._stamps = stamps

    @expose
    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        host = _service_host(name)
        validation.check_number("incarnation", stats.incarnation, 0 if stats.register else 1, MAX_INCARNATION)
        validation.check_number("sequence", stats.sequence, 1, validation.MAX_NUMBER)
        validation.check_number("base", stats.base, 0, stats.sequence - 1)
        target = self._partitions.find(stats.partition)
        partition, versions = target.name, check_versions(COMPUTE, stats.rpc_versions)
        nodes, refusals = drop_refused_facts(check_nodes(host, stats.nodes, stats.full))
        report = HostReport(
            incarnation=stats.incarnation,
            sequence=stats.sequence,
            base=stats.base,
            full=stats.full,
            nodes=nodes,
            register=stats.register,
            agent=stats.agent,
            proof=self._stamps.verify(partition, host, stats.stamp),
            host_uuid=ctxt.host_uuid or "",
            served=stats.served,
            refusal=stats.refusal,
        )
        target.replica.record_report()
        outcome = report_router.update_stats(self._partitions, host, stats.partition, report)
        if not outcome.superseded:
            self._note_clock(ctxt, stats.partition, host)
            if stats.register:
                register_versions(target.store, host, versions)
        if refusals:
            metrics.REFUSED_FACTS.inc(len(refusals))
            LOG.warning("Refused %d facts of host %s, the first: %s", len(refusals), host, refusals[0].sentence[:300])
        return objects.StatsAnswer.of(
            sequence=stats.sequence,
            need_full=outcome.need_full,
            epoch=outcome.epoch,
            audit=outcome.audit,
            required_keys=self._get_reported_keys(),
            incarnation=outcome.incarnation,
            superseded=outcome.superseded,
            stamp=self._stamps.sign(partition, host, outcome.epoch, outcome.position),
            refused=[refusal.kwargs for refusal in refusals[: objects.StatsAnswer.MAX_REFUSED]],
        )

    @expose
    def report_service(
        self,
        ctxt: RequestContext,
        binary: str,
        host: str,
        versions: dict[str, str] | None = None,
        partition: str | None = None,
    ) -> None:
        store = self._partitions.find(partition).store
        name = report_service(store, _service_host(host), _service_host(binary), check_versions(binary, versions))
        self._note_clock(ctxt, partition, name)

    @expose
    def get_oldest_versions(self, ctxt: RequestContext) -> dict[str, str | None]:
        return oldest_versions(self._states.every("service"))

    @expose
    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        if not isinstance(stamps, dict) or not all(isinstance(stamp, str) for stamp in stamps.values()):
            raise errors.MalformedObject(name="call of exchange_stamps", why="stamps must map partitions to strings")
        answer: dict[str, str | None] = dict.fromkeys(stamps)
        for partition in self._partitions:
            proof = self._stamps.verify(partition.name, CONDUCTORS, stamps.get(partition.name))
            try:
                position = partition.store.begin_epoch_if_behind(*(proof or (0, 0)))
            except errors.StoreUnavailable:
                partition.presence.record_failure()
                answer.pop(partition.name, None)
            else:
                answer[partition.name] = self._stamps.sign(partition.name, CONDUCTORS, *position)
        return answer

    @expose
    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        report_router.remove(self._partitions, _service_host(host))

    @expose
    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
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
        return self._page(namespace, marker, limit, matching, partition)

    @expose
    def list_catalog(
        self, ctxt: RequestContext, kind: str, marker: str | None = None, limit: int = 1000
    ) -> objects.HostStatePage:
        if kind not in CATALOG_KINDS:
            raise errors.InvalidRequest(why=f"kind must be {' or '.join(CATALOG_KINDS)}, got {str(kind)[:40]!r}")
        return self._page(kind, marker, limit)

    @expose
    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        _check_rpc_writer(state.namespace, writer)
        if not isinstance(state.document, dict):
            raise errors.MalformedObject(name="HostState", why="its document must be a mapping")
        validation.check_number("version", state.version, 0, validation.MAX_NUMBER)
        name = names.canonical(state.name)
        updated = self._states.update(
            state.namespace, name, state.version, state.document, writer=writer, partition=state.partition
        )
        return encode.host_state(state.namespace, updated)

    @expose
    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        _check_rpc_writer(namespace, writer)
        validation.check_number("version", version, 0, validation.MAX_NUMBER)
        self._states.delete(namespace, names.canonical(name), version, writer)

    @expose
    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]], *, force: bool = False) -> None:
        self._aggregates.update(aggregates, force=force)

    @expose
    def delete_aggregate(
        self, ctxt: RequestContext, name: str, version: int | str | None = None, *, force: bool = False
    ) -> None:
        self._aggregates.delete(name, version, force=force)

    def _page(
        self,
        namespace: str,
        marker: str | None,
        limit: int,
        matching: dict[str, Any] | None = None,
        partition: str | None = None,
    ) -> objects.HostStatePage:
        validation.check_page(limit, marker)
        documents, next_marker = self._states.list(namespace, marker, limit, matching, partition)
        states = [encode.host_state(namespace, document) for document in documents]
        return objects.HostStatePage.of(states=states, marker=next_marker)

    def _observe_late(self, method: str, ctxt: RequestContext, values: Mapping[str, Any]) -> None:
        """Note the sender's clock when a heartbeat has expired: perhaps only the clock is wrong."""
        if method == "update_resource_stats":
            with contextlib.suppress(errors.UnknownPartition):
                self._partitions.find(values["stats"].partition).replica.record_report()
            self._note_clock(ctxt, values["stats"].partition, _service_host(values["name"]))
        elif method == "report_service":
            name = service_name(_service_host(values["host"]), _service_host(values["binary"]))
            self._note_clock(ctxt, values.get("partition"), name)

    def _note_clock(self, ctxt: RequestContext, partition: str | None, name: str) -> None:
        """Have the store compare the sender's clock with its own, if it is far from this worker's."""
        if ctxt.sent_ms is not None and abs(ctxt.sent_ms - 1000 * time.time()) >= MAX_CLOCK_OFFSET_MS:
            with contextlib.suppress(errors.Unavailable, errors.UnknownPartition):  # retried by the next heartbeat
                self._partitions.find(partition).store.note_clock(name, round(ctxt.sent_ms))


def _check_rpc_writer(namespace: str, writer: str) -> None:
    """Raise WriterRefused if a caller poses as the scheduler."""
    if writer == SCHEDULER:
        raise errors.WriterRefused(writer="an RPC caller", namespace=namespace, declared=SCHEDULER)


def _service_host(name: names.ResourceName) -> str:
    """Return the canonical name of a service host or binary. Raises InvalidName for a node."""
    canonical = names.canonical(name)
    if names.SEPARATOR in canonical:
        raise errors.InvalidName(name=canonical, why="it must name a service, not one of its nodes")
    return canonical
