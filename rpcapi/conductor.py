# SPDX-License-Identifier: Apache-2.0
"""The conductor as callers, agents and peers see it."""

from typing import Any

from rpcapi import objects
from rpcapi.client import ServiceClient
from rpcapi.context import RequestContext


class ConductorAPI(ServiceClient):
    """Client of the conductor service, topic ``conductor``.

    1.0 - Initial version: build_instances, report_builds, delete_instances, get_instances, list_instances,
          object_backport_versions
    1.1 - Add audit_hosts
    """

    TOPIC = "conductor"
    VERSION = "1.1"
    CAP = "conductor"

    def build_instances(self, ctxt: RequestContext, spec: objects.RequestSpec, uuids: list[str]) -> None:
        """Record the instances and have them built; the same call again is the same request.

        Raises InvalidSpec, InvalidCount, UnknownTrait, InstanceConflict before anything is recorded.
        """
        self._call(ctxt, "1.0", "build_instances", spec=spec, uuids=uuids)

    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        """Report what became of instances on a host; an agent repeats it until it is answered."""
        self._call(ctxt, "1.0", "report_builds", report=report)

    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Have instances stopped and their claims released; raises UnknownInstance before anything is done."""
        self._call(ctxt, "1.0", "delete_instances", uuids=uuids)

    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        """Return the named instances in that order; raises UnknownInstance."""
        return self._call(ctxt, "1.0", "get_instances", uuids=uuids)

    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        """Return instances, oldest first, after ``marker``; deleted ones only where asked for."""
        values = {"marker": marker, "limit": limit, "deleted": deleted}
        return self._call(ctxt, "1.0", "list_instances", **values)

    def object_backport_versions(
        self, ctxt: RequestContext, objinst: dict[str, Any], object_versions: dict[str, str]
    ) -> Any:
        """Return the object, given as its primitive, at the version of it that the caller's manifest names."""
        values = {"objinst": objinst, "object_versions": object_versions}
        return self._call(ctxt, "1.0", "object_backport_versions", **values)

    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Have every agent audit in ``epoch``: the scheduler can command no host itself."""
        self._call(ctxt, "1.1", "audit_hosts", partition=partition, epoch=epoch)
