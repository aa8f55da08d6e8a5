# SPDX-License-Identifier: Apache-2.0
"""Client of the scheduler, with a pluggable backend so that another scheduler can be used."""

from typing import Any, Protocol, cast

from oslo_config import cfg
from stevedore import driver

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext
from rpcapi.resources import names

BACKENDS = "gantt.scheduler_backends"


class SchedulerBackend(Protocol):
    """Backend of SchedulerAPI: by default gantt's scheduler over the bus, or one of the deployer.

    A backend is created with (conf, transport) and answers ``call`` like the scheduler service. One whose decisions are
    never forgotten answers exchange_stamps with an empty mapping.
    """

    def call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        """Call ``method`` and return its answer; raises errors of rpcapi.errors."""


class BusBackend(ServiceClient):
    """Backend that calls gantt's scheduler workers over the bus."""

    TOPIC = "scheduler"
    VERSION = "1.11"
    SHORT_CALLS = frozenset({"select_destinations"})


class SchedulerAPI:
    """Client of the scheduler service, topic ``scheduler``.

    1.0 - Initial version: select_destinations, update_resource_stats, get_host_state, list_host_state,
          update_host_state, report_service
    1.1 - Add explain
    1.2 - Add delete_host_state, list_decisions, list_partitions and remove_host; list_host_state takes matching and
          partition; update_host_state creates a document at version 0
    1.3 - Add select_batch, update_aggregates, delete_aggregate, dry_run and list_filters
    1.4 - select_destinations: add fresh
    1.5 - Add exchange_stamps
    1.6 - Add audit_nova
    1.7 - report_service: add versions. Add get_oldest_versions
    1.8 - dry_run: add scope
    1.9 - select_batch: add details, and requests of several projects with deadlines of their own
    1.10 - Add list_catalog
    1.11 - report_service: add partition
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
    ) -> objects.Selections:
        """Select and claim a host for each uuid, all or none; raises NoValidHost, InvalidSpec, DeadlinePassed.

        ``fresh``: the caller is certain that no instance of ``uuids`` runs that it does not know of. Otherwise, after a
        store may have forgotten claims, ClaimClosed is raised until all hosts that may run one have been audited.
        """
        return self._backend.call(
            ctxt,
            "1.4",
            "select_destinations",
            spec=spec,
            uuids=uuids,
            attempt=attempt,
            alternates=alternates,
            fresh=fresh,
        )

    def select_batch(
        self, ctxt: RequestContext, requests: objects.SelectionRequests, *, details: bool = False
    ) -> objects.SelectionAnswers:
        """Select and claim hosts for several requests, each all or none; raises InvalidCount, DeadlinePassed.

        They are decided together when the configured driver supports it, and else in rounds. An error of one request is
        its answer, with the error's fields if ``details`` are asked for.
        """
        return self._backend.call(ctxt, "1.9", "select_batch", requests=requests, details=details)

    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        """Report the nodes of a service host, or only a heartbeat; raises InvalidStats, UnknownHost."""
        return self._backend.call(ctxt, "1.0", "update_resource_stats", name=names.canonical(name), stats=stats)

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
        """Return one document; raises UnknownHost, UnknownNamespace."""
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
        """Return documents after ``marker``, ordered by name; raises UnknownNamespace, UnknownPartition.

        ``matching`` selects documents with these values of top-level keys; its key "host" selects those of one service
        host and its nodes. ``partition`` selects those of one partition.
        """
        return self._backend.call(
            ctxt,
            "1.2",
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
        """Return documents of ``kind`` "flavor" or "image" after ``marker``; raises InvalidRequest.

        Clients that act for a project may call it. Operators write these documents as host state.
        """
        return self._backend.call(ctxt, "1.10", "list_catalog", kind=kind, marker=marker, limit=limit)

    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        """Merge ``state.document`` into what is recorded at ``state.version`` and return the new state.

        A key with the value null is removed from the document, except in namespace ``service``. Version 0 creates
        the document. Raises VersionConflict, WriterRefused, UnknownHost, UnknownNamespace, InvalidHostState when
        the result violates the schema of the namespace, and Conflict when the document is in another partition than
        ``state.partition``.
        """
        return self._backend.call(ctxt, "1.0", "update_host_state", state=state, writer=writer)

    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        """Delete the document recorded at ``version``; does nothing when there is none.

        Raises VersionConflict, WriterRefused, UnknownNamespace.
        """
        self._backend.call(
            ctxt,
            "1.2",
            "delete_host_state",
            namespace=namespace,
            name=names.canonical(name),
            version=version,
            writer=writer,
        )

    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]]) -> None:
        """Create or completely replace these aggregates in all partitions; nothing is changed when one is invalid.

        Each aggregate is {"id": text, "name": text, "hosts": [names of service hosts, nodes or other providers],
        "metadata": {text: text}, "version": number or text}; "hosts" and one of "id" and "name" are required. An update
        with a version that is not later than the recorded one is ignored; without a version the last update wins.
        Raises InvalidRequest, InvalidName or InvalidHostState; StoreUnavailable when a partition does not answer:
        repeat the call then.
        """
        self._backend.call(ctxt, "1.3", "update_aggregates", aggregates=aggregates)

    def delete_aggregate(self, ctxt: RequestContext, name: str, version: int | str | None = None) -> None:
        """Delete the aggregate with that id; does nothing when there is none. Raises as update_aggregates.

        ``version`` is compared as there, and kept after the deletion: older updates that arrive late are ignored.
        """
        self._backend.call(ctxt, "1.3", "delete_aggregate", name=name, version=version)

    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        """Remove a service host and its nodes in whatever partition it is; does nothing when it is unknown.

        A host that may run claims which its store forgot is fenced too. Raises HostInUse when it has live claims, and
        Conflict for such a host that is up.
        """
        self._backend.call(ctxt, "1.2", "remove_host", host=host)

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        """Return the partitions of the deployment from the view of the worker that answers."""
        return self._backend.call(ctxt, "1.2", "list_partitions")

    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        """Send the newest stamp of each partition, and return the present ones; None where partitions have no stamps.

        A partition whose stamp is later than its store has been restored from a backup, and begins an epoch before the
        answer. One whose store does not answer is missing.
        """
        return self._backend.call(ctxt, "1.5", "exchange_stamps", stamps=stamps)

    def report_service(
        self,
        ctxt: RequestContext,
        binary: str,
        host: str,
        versions: dict[str, str] | None = None,
        partition: str | None = None,
    ) -> None:
        """Send a heartbeat of a service without nodes, such as a conductor, with the RPC version of each topic.

        It is registered in ``partition``; None is that of the worker that answers. Raises UnknownPartition.
        """
        self._backend.call(
            ctxt, "1.11", "report_service", binary=binary, host=host, versions=versions, partition=partition
        )

    def get_oldest_versions(self, ctxt: RequestContext) -> dict[str, str | None]:
        """Return the oldest RPC version that living services report, by topic; None where one reports none.

        Claims services of all partitions are topic ``claims``. A topic without a living service is missing.
        """
        return self._backend.call(ctxt, "1.7", "get_oldest_versions")

    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        """Return the record of a decision; raises UnknownDecision."""
        return self._backend.call(ctxt, "1.1", "explain", request_id=request_id)

    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = "all"
    ) -> objects.Decision:
        """Decide for ``count`` instances on the replica of a worker; nothing is claimed or recorded.

        At most as many instances are decided as one claim script accepts. A refusal is returned, not raised, with its
        reasons. ``scope`` "rebuild" is about instances that stay on their forced host: only what depends on the image
        is checked, whatever the host has left. Raises InvalidSpec, UnknownHost for an unknown forced host,
        PluginFailed, NotReady.
        """
        return self._backend.call(ctxt, "1.8", "dry_run", spec=spec, count=count, scope=scope)

    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        """Return the filters and weighers of the worker that answers; ``kind``: "filter", "weigher" or None (both)."""
        return self._backend.call(ctxt, "1.3", "list_filters", kind=kind)

    def audit_nova(
        self, ctxt: RequestContext, *, fix: bool = False, marker: str | None = None, limit: int = 1000
    ) -> objects.NovaAudit:
        """Find the claims for Nova that no instance uses in a page of all claims; ``fix``: and end them.

        Raises Unavailable where gantt-nova-bridge does not answer, or could not read all of Nova's databases.
        """
        return self._backend.call(ctxt, "1.6", "audit_nova", fix=fix, marker=marker, limit=limit)

    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        """Return a partition's recorded decisions, oldest first, after ``marker``; raises UnknownPartition.

        ``partition`` None is that of the scheduler.
        """
        return self._backend.call(ctxt, "1.2", "list_decisions", partition=partition, marker=marker, limit=limit)


def _load(conf: cfg.ConfigOpts, transport: Any) -> SchedulerBackend:
    manager: driver.DriverManager[SchedulerBackend] = driver.DriverManager(
        BACKENDS, conf.scheduler_client.backend, invoke_on_load=True, invoke_args=(conf, transport)
    )
    return cast(SchedulerBackend, manager.driver)
