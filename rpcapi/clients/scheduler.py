# SPDX-License-Identifier: Apache-2.0
"""Client of the scheduler, with a pluggable backend for other schedulers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from oslo_config import cfg
from stevedore import driver

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext
from rpcapi.resources import names

BACKENDS = "gantt.scheduler_backends"


class SchedulerBackend(Protocol):
    """Backend of SchedulerAPI, created with (conf, transport): gantt's scheduler on the bus, or a plugin.

    A backend that never forgets decisions answers exchange_stamps with an empty mapping.
    """

    def call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        """Answer ``method`` like the scheduler service. Raises errors of rpcapi.errors."""


class BusBackend(ServiceClient):
    """Backend that calls gantt's scheduler workers over the bus."""

    TOPIC = "scheduler"
    VERSION = "1.0"
    SHORT_CALLS = frozenset({"select_destinations"})


class SchedulerAPI:
    """Client of the scheduler service, topic ``scheduler``."""

    VERSION = BusBackend.VERSION

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, backend: SchedulerBackend | None = None) -> None:
        self._backend = backend or _load(conf, transport)

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
        """Select and claim a host for each uuid, all or none. Raises NoValidHost, InvalidSpec or DeadlinePassed.

        ``fresh``: the caller knows of everything that runs under these uuids. Otherwise, while a store may have
        forgotten claims, raises ClaimClosed until all hosts that may run the instances have audited. ``moves``: the
        MoveEnd of each uuid that moves. Raises ClaimConflict if a different move of the instance is in progress,
        ClaimClosed if audits have yet to show which.
        """
        return self._backend.call(
            ctxt,
            "1.0",
            "select_destinations",
            spec=spec,
            uuids=uuids,
            attempt=attempt,
            alternates=alternates,
            fresh=fresh,
            moves=list(moves),
        )

    def select_batch(
        self, ctxt: RequestContext, requests: objects.SelectionRequests, *, details: bool = False
    ) -> objects.SelectionAnswers:
        """Select and claim hosts for several requests, each all or none. Raises InvalidCount or DeadlinePassed.

        The driver decides them together if it can. A failed request is answered by its error, with fields if
        ``details``.
        """
        return self._backend.call(ctxt, "1.0", "select_batch", requests=requests, details=details)

    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        """Report the nodes of a service host, or only a heartbeat. Raises InvalidStats or UnknownHost."""
        return self._backend.call(ctxt, "1.0", "update_resource_stats", name=names.canonical(name), stats=stats)

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
        """Return one document. Raises UnknownHost or UnknownNamespace."""
        return self._backend.call(ctxt, "1.0", "get_host_state", namespace=namespace, name=names.canonical(name))

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
        """Return a page of documents by name; raises UnknownNamespace or UnknownPartition.

        ``matching`` selects documents by values of top-level keys; its key "host" selects a service host and its nodes.
        """
        return self._backend.call(
            ctxt,
            "1.0",
            "list_host_state",
            namespace=namespace,
            marker=marker,
            limit=limit,
            matching=matching,
            partition=partition,
        )

    def list_catalog(
        self, ctxt: RequestContext, kind: str, marker: str | None = None, limit: int = 1000
    ) -> objects.HostStatePage:
        """Return a page of "flavor" or "image" documents, even to clients of one project. Raises InvalidRequest."""
        return self._backend.call(ctxt, "1.0", "list_catalog", kind=kind, marker=marker, limit=limit)

    def create_server_group(self, ctxt: RequestContext, group: objects.ServerGroup) -> objects.ServerGroup:
        """Create a server group under its uuid. Idempotent. Raises InvalidRequest, Conflict or QuotaExceeded."""
        return self._backend.call(ctxt, "1.0", "create_server_group", group=group)

    def get_server_group(self, ctxt: RequestContext, group_id: str, project: str | None = None) -> objects.ServerGroup:
        """Return a server group of ``project`` (None: any visible to the caller). Raises NotFound."""
        return self._backend.call(ctxt, "1.0", "get_server_group", group_id=group_id, project=project)

    def list_server_groups(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, *, project: str | None = None
    ) -> objects.ServerGroupPage:
        """Return a page of server groups of ``project`` (None: all visible to the caller), by id."""
        return self._backend.call(ctxt, "1.0", "list_server_groups", marker=marker, limit=limit, project=project)

    def delete_server_group(self, ctxt: RequestContext, group_id: str) -> None:
        """Delete the caller's server group of this id, if any. Raises GroupInUse if it has members."""
        self._backend.call(ctxt, "1.0", "delete_server_group", group_id=group_id)

    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        """Merge ``state.document`` into the document at ``state.version`` and return the new state.

        A null value removes its key, except in namespace ``service``. Version 0 creates the document. Raises
        VersionConflict, WriterRefused, UnknownHost, UnknownNamespace, InvalidHostState, or Conflict if the document is
        not in ``state.partition``.
        """
        return self._backend.call(ctxt, "1.0", "update_host_state", state=state, writer=writer)

    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        """Delete a document if it exists. Raises VersionConflict, WriterRefused or UnknownNamespace."""
        self._backend.call(
            ctxt,
            "1.0",
            "delete_host_state",
            namespace=namespace,
            name=names.canonical(name),
            version=version,
            writer=writer,
        )

    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]], *, force: bool = False) -> None:
        """Create or replace aggregates in all partitions, all or none.

        Each is {"id": text, "name": text, "hosts": [service hosts, nodes or other providers], "metadata": {text: text},
        "version": number or text}; "hosts" and one of "id" and "name" are required. An update that is not newer than
        the recorded version is ignored; without a version the last update wins. Raises InvalidRequest, InvalidName or
        InvalidHostState; StoreUnavailable if a partition does not answer (repeat the call); unless ``force``,
        ZoneConflict if a zone would be taken from a host with live claims, or a host would get a second zone.
        """
        self._backend.call(ctxt, "1.0", "update_aggregates", aggregates=aggregates, force=force)

    def delete_aggregate(
        self, ctxt: RequestContext, name: str, version: int | str | None = None, *, force: bool = False
    ) -> None:
        """Delete an aggregate if it exists. Late updates older than ``version`` are ignored. Raises ZoneConflict."""
        self._backend.call(ctxt, "1.0", "delete_aggregate", name=name, version=version, force=force)

    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        """Remove a service host, if known, and its nodes from its partition.

        Fences the host if the store may have forgotten its claims. Raises HostInUse (live claims) or Conflict (up).
        """
        self._backend.call(ctxt, "1.0", "remove_host", host=host)

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        """Return the deployment's partitions as known to the answering worker."""
        return self._backend.call(ctxt, "1.0", "list_partitions")

    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        """Send the newest known stamp of each partition; return the current stamps (None: the partition has none).

        A stamp newer than its store proves a restored backup: the partition begins a new epoch before it answers.
        Partitions with an unreachable store are omitted.
        """
        return self._backend.call(ctxt, "1.0", "exchange_stamps", stamps=stamps)

    def report_service(
        self,
        ctxt: RequestContext,
        binary: str,
        host: str,
        versions: dict[str, str] | None = None,
        partition: str | None = None,
    ) -> None:
        """Send heartbeat and RPC versions of a service without nodes, such as a conductor. Raises UnknownPartition."""
        self._backend.call(
            ctxt, "1.0", "report_service", binary=binary, host=host, versions=versions, partition=partition
        )

    def get_oldest_versions(self, ctxt: RequestContext) -> dict[str, str | None]:
        """Return the oldest RPC version of living services by topic; None if a service reports none."""
        return self._backend.call(ctxt, "1.0", "get_oldest_versions")

    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        """Return a decision record. Raises UnknownDecision."""
        return self._backend.call(ctxt, "1.0", "explain", request_id=request_id)

    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = "all"
    ) -> objects.Decision:
        """Decide for ``count`` instances on a worker's replica, without claims or records.

        ``count`` is capped at the maximum of one claim script. A refusal is returned with its reasons, not raised.
        ``scope`` "rebuild" checks what depends on the image of instances on their forced host, not free capacity.
        Raises InvalidSpec, PluginFailed, NotReady, or UnknownHost for the forced host.
        """
        return self._backend.call(ctxt, "1.0", "dry_run", spec=spec, count=count, scope=scope)

    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        """Return the answering worker's filters and weighers; ``kind`` is "filter", "weigher" or None for both."""
        return self._backend.call(ctxt, "1.0", "list_filters", kind=kind)

    def audit_nova(
        self, ctxt: RequestContext, *, fix: bool = False, marker: str | None = None, limit: int = 1000
    ) -> objects.NovaAudit:
        """Find Nova's claims without an instance in a page of claims; ``fix`` ends them. Raises Unavailable."""
        return self._backend.call(ctxt, "1.0", "audit_nova", fix=fix, marker=marker, limit=limit)

    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        """Return a page of a partition's decisions (None: the scheduler's), oldest first. Raises UnknownPartition."""
        return self._backend.call(ctxt, "1.0", "list_decisions", partition=partition, marker=marker, limit=limit)


def _load(conf: cfg.ConfigOpts, transport: Any) -> SchedulerBackend:
    manager: driver.DriverManager[SchedulerBackend] = driver.DriverManager(
        BACKENDS, conf.scheduler_client.backend, invoke_on_load=True, invoke_args=(conf, transport)
    )
    return cast(SchedulerBackend, manager.driver)
