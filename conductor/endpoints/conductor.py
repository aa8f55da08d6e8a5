# SPDX-License-Identifier: Apache-2.0
"""The conductor's calls; rpcapi.conductor.ConductorAPI says what each owes."""

from typing import Any

import oslo_messaging as messaging

from conductor import metrics
from conductor.backport import backport
from conductor.deletion import Deletion
from conductor.instances import Instances
from conductor.peers import Peers
from conductor.reports import Reports
from conductor.requests import Requests
from rpcapi import errors, objects
from rpcapi.conductor import ConductorAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import exposed


class ConductorEndpoint:
    """Topic ``conductor``."""

    target = messaging.Target(version=ConductorAPI.VERSION)

    def __init__(
        self, requests: Requests, reports: Reports, deletion: Deletion, instances: Instances, peers: Peers
    ) -> None:
        self._requests = requests
        self._reports = reports
        self._deletion = deletion
        self._instances = instances
        self._peers = peers

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method, code).inc()
        metrics.CALL_SECONDS.labels(method).observe(seconds)

    @exposed
    def build_instances(self, ctxt: RequestContext, spec: objects.RequestSpec, uuids: list[str]) -> None:
        self._requests.build(ctxt, spec, uuids)

    @exposed
    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        if not isinstance(report, objects.BuildReport):
            raise errors.MalformedObject(name="BuildReport", why=f"it is of type {type(report).__name__}")
        self._reports.take(ctxt, report)

    @exposed
    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._deletion.delete(uuids)

    @exposed
    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        return self._instances.get(uuids)

    @exposed
    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        return self._instances.list(marker, limit, deleted=deleted)

    @exposed
    def object_backport_versions(
        self, ctxt: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> dict[str, Any]:
        # The serializer has read the primitive already.
        return backport(objinst, object_versions)

    @exposed
    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        if not isinstance(partition, str) or not isinstance(epoch, int) or isinstance(epoch, bool):
            raise errors.MalformedObject(
                name="call of audit_hosts", why="the partition is no text or the epoch no number"
            )
        self._peers.compute.audit(ctxt, partition, epoch)
