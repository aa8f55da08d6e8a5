# SPDX-License-Identifier: Apache-2.0
"""The scheduler as its callers see it: the seam behind which another scheduler can sit."""

from typing import Any, Protocol, cast

from oslo_config import cfg
from stevedore import driver

from rpcapi import objects
from rpcapi.client import ServiceClient
from rpcapi.context import RequestContext
from rpcapi.model import names

BACKENDS = "gantt.scheduler_backends"


class SchedulerBackend(Protocol):
    """What stands behind SchedulerAPI: gantt's own over the bus by default, or a deployer's.

    A backend is made with (conf, transport) and answers ``call`` as the scheduler service would.
    """

    def call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        """Carry out ``method`` and return its answer; raises from rpcapi.errors."""


class BusBackend(ServiceClient):
    """gantt's scheduler workers, over the bus."""

    TOPIC = "scheduler"
    VERSION = "1.3"
    CAP = "scheduler"
    PROMPT = frozenset({"select_destinations"})

    call = ServiceClient._call


class SchedulerAPI:
    """Client of the scheduler service, topic ``scheduler``.

    1.0 - Initial version: select_destinations, update_resource_stats, get_host_state, list_host_state,
          update_host_state, report_service
    1.1 - Add explain
    1.2 - Add delete_host_state, list_decisions, list_partitions and remove_host; list_host_state takes matching and
          partition; update_host_state creates a document at version 0
    1.3 - Add select_batch, update_aggregates, delete_aggregate, dry_run and list_filters
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
    ) -> objects.Selections:
        """Choose and claim a host for each uuid, all or none; raises NoValidHost, InvalidSpec, DeadlinePassed."""
        values = {"spec": spec, "uuids": uuids, "attempt": attempt, "alternates": alternates}
        return self._backend.call(ctxt, "1.0", "select_destinations", **values)

    def select_batch(self, ctxt: RequestContext, requests: objects.SelectionRequests) -> objects.SelectionAnswers:
        """Choose and claim for many requests at once, each all or none; raises InvalidCount, DeadlinePassed.

        Where the configured driver can, they are placed together. What is wrong with one request is its answer.
        """
        return self._backend.call(ctxt, "1.3", "select_batch", requests=requests)

    def update_resource_stats(
        self, ctxt: RequestContext, name: names.ResourceName, stats: objects.StatsReport
    ) -> objects.StatsAnswer:
        """Report a service host's nodes, or only that it lives; raises InvalidStats, UnknownHost."""
        values = {"name": names.canonical(name), "stats": stats}
        return self._backend.call(ctxt, "1.0", "update_resource_stats", **values)

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: names.ResourceName) -> objects.HostState:
        """Return one document; raises UnknownHost, UnknownNamespace."""
        values = {"namespace": namespace, "name": names.canonical(name)}
        return self._backend.call(ctxt, "1.0", "get_host_state", **values)

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
        """Return documents by name after ``marker``; raises UnknownNamespace, UnknownPartition.

        ``matching`` keeps those whose top-level keys have these values; its key "host" keeps those of one service
        host and its nodes. ``partition`` keeps those of one partition.
        """
        values: dict[str, Any] = {"namespace": namespace, "marker": marker, "limit": limit}
        narrowing = {"matching": matching, "partition": partition}
        given = {name: value for name, value in narrowing.items() if value is not None}
        return self._backend.call(ctxt, "1.2" if given else "1.0", "list_host_state", **values, **given)

    def update_host_state(self, ctxt: RequestContext, state: objects.HostState, writer: str) -> objects.HostState:
        """Merge ``state.document`` into what is recorded at ``state.version`` and return the new state.

        A key with the value null is dropped from the document, except in namespace ``service``. Version 0 creates
        the document. Raises VersionConflict, WriterRefused, UnknownHost, UnknownNamespace, InvalidHostState where
        the result is against the namespace's schema, and Conflict where the document is in another partition than
        ``state.partition`` says.
        """
        return self._backend.call(ctxt, "1.0", "update_host_state", state=state, writer=writer)

    def delete_host_state(
        self, ctxt: RequestContext, namespace: str, name: names.ResourceName, version: int, writer: str
    ) -> None:
        """Delete the document that is recorded at ``version``; fine where there is none.

        Raises VersionConflict, WriterRefused, UnknownNamespace.
        """
        values = {"namespace": namespace, "name": names.canonical(name), "version": version, "writer": writer}
        self._backend.call(ctxt, "1.2", "delete_host_state", **values)

    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]]) -> None:
        """Replace these aggregates whole, in every partition, or make them: all, or none where one is wrong.

        Each is {"id": text, "name": text, "hosts": [names of service hosts, nodes or other providers], "metadata":
        {text: text}, "version": number or text}; "hosts" and one of "id" and "name" are needed. A version that is not
        later than the recorded one is ignored; without one the last to arrive is taken. Raises InvalidRequest,
        InvalidName or InvalidHostState; and StoreUnavailable where a partition does not answer: then say it again.
        """
        self._backend.call(ctxt, "1.3", "update_aggregates", aggregates=aggregates)

    def delete_aggregate(self, ctxt: RequestContext, name: str, version: int | str | None = None) -> None:
        """Delete the aggregate of that id; fine where there is none. Raises as update_aggregates does.

        ``version`` is compared as there, and outlives the aggregate: older news of it that comes late is ignored.
        """
        self._backend.call(ctxt, "1.3", "delete_aggregate", name=name, version=version)

    def remove_host(self, ctxt: RequestContext, host: str) -> None:
        """Forget a service host with all its nodes, wherever it is; fine where it is not known.

        Raises HostInUse where it holds live claims.
        """
        self._backend.call(ctxt, "1.2", "remove_host", host=host)

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        """Return the deployment's partitions, as the worker that answers sees them."""
        return self._backend.call(ctxt, "1.2", "list_partitions")

    def report_service(self, ctxt: RequestContext, binary: str, host: str) -> None:
        """Tell that a service without nodes, such as a conductor, lives."""
        self._backend.call(ctxt, "1.0", "report_service", binary=binary, host=host)

    def explain(self, ctxt: RequestContext, request_id: str) -> objects.Decision:
        """Return the record of a decision; raises UnknownDecision."""
        return self._backend.call(ctxt, "1.1", "explain", request_id=request_id)

    def dry_run(self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1) -> objects.Decision:
        """Decide for ``count`` instances on what a worker knows now; nothing is claimed and nothing is recorded.

        Of many instances those are decided that one claim script would take. A refusal is an answer here, with its
        reasons. Raises InvalidSpec, UnknownHost for a forced host that nobody knows, PluginFailed, NotReady.
        """
        return self._backend.call(ctxt, "1.3", "dry_run", spec=spec, count=count)

    def list_filters(self, ctxt: RequestContext, kind: str | None = None) -> objects.FilterList:
        """Return what the worker that answers decides by: of ``kind`` "filter" or "weigher", or both."""
        return self._backend.call(ctxt, "1.3", "list_filters", kind=kind)

    def list_decisions(
        self, ctxt: RequestContext, partition: str | None = None, marker: str | None = None, limit: int = 100
    ) -> objects.DecisionPage:
        """Return a partition's recorded decisions, oldest first, after ``marker``; raises UnknownPartition.

        ``partition`` None is the scheduler's own.
        """
        values = {"partition": partition, "marker": marker, "limit": limit}
        return self._backend.call(ctxt, "1.2", "list_decisions", **values)


def _load(conf: cfg.ConfigOpts, transport: Any) -> SchedulerBackend:
    manager: driver.DriverManager[SchedulerBackend] = driver.DriverManager(
        BACKENDS, conf.scheduler_client.backend, invoke_on_load=True, invoke_args=(conf, transport)
    )
    return cast(SchedulerBackend, manager.driver)
