# SPDX-License-Identifier: Apache-2.0
"""The conductor's RPC endpoint; rpcapi.clients.conductor.ConductorAPI documents each method."""

from typing import Any

import oslo_messaging as messaging

from conductor import metrics
from conductor.backport import backport
from conductor.deletion import InstanceDeletion
from conductor.instances import InstanceReader
from conductor.reports import BuildReports
from conductor.requests import BuildRequests
from conductor.service_clients import ServiceClients
from conductor.store.bounds import RecordBounds
from conductor.vouching import ClaimVouching
from rpcapi import errors, objects
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.resources import names

AGENT_SECONDS = 5.0  # limit of a call to an agent


class ConductorEndpoint:
    """Endpoint of topic ``conductor``."""

    target = messaging.Target(version=ConductorAPI.VERSION)

    def __init__(
        self,
        requests: BuildRequests,
        reports: BuildReports,
        deletion: InstanceDeletion,
        instances: InstanceReader,
        *,
        vouching: ClaimVouching,
        clients: ServiceClients,
        bounds: RecordBounds,
    ) -> None:
        self._requests = requests
        self._reports = reports
        self._deletion = deletion
        self._instances = instances
        self._claim_vouching = vouching
        self._clients = clients
        self._bounds = bounds

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method, code).inc()
        metrics.CALL_SECONDS.labels(method).observe(seconds)

    @expose
    def build_instances(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        names: list[str] | None = None,
        first_sent: float | None = None,
    ) -> None:
        self._requests.build(ctxt, spec, uuids, names or (), first_sent)

    @expose
    def check_store(self, ctxt: RequestContext) -> None:
        self._instances.check_store()

    @expose
    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return objects.StoreSizes.of_sizes(self._bounds.measure())

    @expose
    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        if not isinstance(project, str):
            raise errors.MalformedObject(name="call of get_quota", why="project must be a string")
        return self._requests.quota(project)

    @expose
    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        if not isinstance(report, objects.BuildReport):
            raise errors.MalformedObject(name="BuildReport", why=f"it is of type {type(report).__name__}")
        self._reports.record(ctxt, report)

    @expose
    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._deletion.delete(uuids, ctxt.sender_project)

    @expose
    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        return self._instances.get(uuids, ctxt.sender_project)

    @expose
    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        return self._instances.list(marker, limit, deleted=deleted, project=ctxt.sender_project)

    @expose
    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        if not isinstance(partition, str):
            raise errors.MalformedObject(name="call of list_hosts", why="partition must be a string")
        return self._instances.list_hosts(partition)

    @expose
    def object_backport_versions(
        self, ctxt: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> dict[str, Any]:
        # The serializer has already decoded the primitive.
        return backport(objinst, object_versions)

    @expose
    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        if names.SEPARATOR in names.canonical(host):
            raise errors.InvalidName(name=host, why="a service host is required, not one of its nodes")
        try:
            agent_ctxt = ctxt.with_timeout(min(AGENT_SECONDS, ctxt.remaining(AGENT_SECONDS)))
            return self._clients.compute.list_guests(agent_ctxt, host, marker, limit)
        except messaging.MessagingTimeout as error:
            raise errors.Unavailable(what=f"The agent of host {host!r}", why="no answer in time") from error

    @expose
    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        if not isinstance(refs, objects.ClaimRefs):
            raise errors.MalformedObject(name="ClaimRefs", why=f"it is of type {type(refs).__name__}")
        self._claim_vouching.check(partition, host, refs)

    @expose
    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        if not isinstance(partition, str) or not isinstance(epoch, int) or isinstance(epoch, bool):
            raise errors.MalformedObject(
                name="call of audit_hosts", why="partition must be a string and epoch an integer"
            )
        self._clients.compute.audit(ctxt, partition, epoch)
