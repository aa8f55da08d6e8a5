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
    """Backend of SchedulerAPI: gantt's scheduler on the bus by default, or a plugin.

    A backend is created with (conf, transport) and answers ``call`` like the scheduler service. A backend that never
    forgets decisions answers exchange_stamps with an empty mapping.
    """

    def call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        """Return the answer of ``method``; raises errors of rpcapi.errors."""


class BusBackend(ServiceClient):
    """Backend that calls gantt's scheduler workers over the bus."""

    TOPIC = "scheduler"
    VERSION = "1.0"
    SHORT_CALLS = frozenset({"select_destinations"})


class SchedulerAPI:
    """Client of the scheduler service, topic ``scheduler``.

    1.0 - Initial version
    """

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
        """Select and claim a host for each uuid, all or none; raises NoValidHost, InvalidSpec or DeadlinePassed.

        ``fresh``: the caller knows that nothing unknown to it runs under these uuids. Otherwise, if a store may have
        forgotten claims, ClaimClosed is raised until all hosts that may run the instances have audited.

        ``moves``: the MoveEnd of each uuid whose destination is selected. ClaimConflict is raised if another move of
        the instance is in progress, ClaimClosed if audits have yet to show which.
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
        """Select and claim hosts for several requests, each all or none; raises InvalidCount or DeadlinePassed.

        They are decided together if the driver supports it, otherwise in rounds. The error of a request is its answer,
        with the error's fields if ``details``.
        """
        return self._backend.call(ctxt, "1.0", "select_batch", requests=requests, details=details)

    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        """Report the nodes of a service host, or only a heartbeat; raises InvalidStats or UnknownHost."""
        return self._backend.call(ctxt, "1.0", "update_resource_stats", name=names.canonical(name), stats=stats)

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
        """Return one document; raises UnknownHost or UnknownNamespace."""
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
        """Return a page of documents of ``kind`` "flavor" or "image"; raises InvalidRequest.

        Allowed for clients of a single project. Operators write these documents as host state.
        """
        return self._backend.call(ctxt, "1.0", "list_catalog", kind=kind, marker=marker, limit=limit)

    def create_server_group(self, ctxt: RequestContext, group: objects.ServerGroup) -> objects.ServerGroup:
        """Create a server group with the caller's uuid; a repeated call is the same call.

        Raises InvalidRequest, Conflict (the uuid is another group's) or QuotaExceeded (the project has too many).
        """
        return self._backend.call(ctxt, "1.0", "create_server_group", group=group)

    def get_server_group(self, ctxt: RequestContext, group_id: str, project: str | None = None) -> objects.ServerGroup:
        """Return a server group of a project (None: of any that the caller may see); raises NotFound."""
        return self._backend.call(ctxt, "1.0", "get_server_group", group_id=group_id, project=project)

    def list_server_groups(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, *, project: str | None = None
    ) -> objects.ServerGroupPage:
        """Return a page of the server groups of a project (None: of all that the caller may see), by id."""
        return self._backend.call(ctxt, "1.0", "list_server_groups", marker=marker, limit=limit, project=project)

    def delete_server_group(self, ctxt: RequestContext, group_id: str) -> None:
        """Delete a server group, if the caller has one of this id; raises GroupInUse if it has members."""
        self._backend.call(ctxt, "1.0", "delete_server_group", group_id=group_id)

    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        """Merge ``state.document`` into the document at ``state.version`` and return the new state.

        A null value removes its key, except in namespace ``service``. Version 0 creates the document. Raises
        VersionConflict, WriterRefused, UnknownHost or UnknownNamespace (see rpcapi.errors); InvalidHostState (the
        result violates the schema of the namespace); Conflict (the document is in a partition other than
        ``state.partition``).
        """
        return self._backend.call(ctxt, "1.0", "update_host_state", state=state, writer=writer)

    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        """Delete a document if it exists; raises VersionConflict, WriterRefused or UnknownNamespace."""
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

        Each aggregate is {"id": text, "name": text, "hosts": [names of service hosts, nodes or other providers],
        "metadata": {text: text}, "version": number or text}; "hosts" and either "id" or "name" are required. An update
        that is not newer than the recorded version is ignored; without a version the last update wins. Raises
        InvalidRequest, InvalidName or InvalidHostState (an aggregate is invalid); StoreUnavailable (a partition does
        not answer; repeat the call); unless ``force``, ZoneConflict (a zone would be taken from a host with live
        claims, or a host would get a second zone).
        """
        self._backend.call(ctxt, "1.0", "update_aggregates", aggregates=aggregates, force=force)

    def delete_aggregate(
        self, ctxt: RequestContext, name: str, version: int | str | None = None, *, force: bool = False
    ) -> None:
        """Delete the aggregate with id ``name``; an unknown one is no error. Raises the errors of update_aggregates.

        The store keeps ``version`` after the deletion, so that late older updates are ignored.
        """
        self._backend.call(ctxt, "1.0", "delete_aggregate", name=name, version=version, force=force)

    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        """Remove a service host and its nodes from its partition; an unknown host is no error.

        If the store may have forgotten claims on the host, it is fenced too. Raises HostInUse (the host has live
        claims) or Conflict (the host would be fenced, but is up).
        """
        self._backend.call(ctxt, "1.0", "remove_host", host=host)

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        """Return the partitions of the deployment as seen by the answering worker."""
        return self._backend.call(ctxt, "1.0", "list_partitions")

    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        """Send the newest known stamp of each partition; return the current stamps, None for partitions without stamps.

        A stamp newer than its store proves that the store was restored from a backup; the partition begins a new epoch
        before it answers. Partitions with an unreachable store are omitted.
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
        """Send the heartbeat of a service without nodes, such as a conductor, with its RPC version per topic.

        ``partition`` defaults to the answering worker's partition. Raises UnknownPartition.
        """
        self._backend.call(
            ctxt, "1.0", "report_service", binary=binary, host=host, versions=versions, partition=partition
        )

    def get_oldest_versions(self, ctxt: RequestContext) -> dict[str, str | None]:
        """Return the oldest RPC version of living services by topic; None if one of them reports no version.

        The claims services of all partitions share the topic ``claims``. Topics without a living service are omitted.
        """
        return self._backend.call(ctxt, "1.0", "get_oldest_versions")

    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        """Return a decision record; raises UnknownDecision."""
        return self._backend.call(ctxt, "1.0", "explain", request_id=request_id)

    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = "all"
    ) -> objects.Decision:
        """Decide for ``count`` instances on a worker's replica, without claims or records.

        ``count`` is capped at the maximum of one claim script. A refusal is returned with its reasons, not raised.
        ``scope`` "rebuild" checks instances that stay on their forced host: only what depends on the image, not free
        capacity. Raises InvalidSpec, PluginFailed or NotReady (see rpcapi.errors); UnknownHost (the forced host is
        unknown).
        """
        return self._backend.call(ctxt, "1.0", "dry_run", spec=spec, count=count, scope=scope)

    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        """Return filters and weighers of the answering worker; ``kind`` is "filter", "weigher" or None for both."""
        return self._backend.call(ctxt, "1.0", "list_filters", kind=kind)

    def audit_nova(
        self, ctxt: RequestContext, *, fix: bool = False, marker: str | None = None, limit: int = 1000
    ) -> objects.NovaAudit:
        """Find Nova's claims without an instance in one page of all claims; ``fix`` also ends them.

        Raises Unavailable if gantt-nova-bridge does not answer or could not read all of Nova's databases.
        """
        return self._backend.call(ctxt, "1.0", "audit_nova", fix=fix, marker=marker, limit=limit)

    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        """Return a page of a partition's decisions (None: the scheduler's), oldest first; raises UnknownPartition."""
        return self._backend.call(ctxt, "1.0", "list_decisions", partition=partition, marker=marker, limit=limit)


def _load(conf: cfg.ConfigOpts, transport: Any) -> SchedulerBackend:
    manager: driver.DriverManager[SchedulerBackend] = driver.DriverManager(
        BACKENDS, conf.scheduler_client.backend, invoke_on_load=True, invoke_args=(conf, transport)
    )
    return cast(SchedulerBackend, manager.driver)
