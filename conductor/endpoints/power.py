# SPDX-License-Identifier: Apache-2.0
"""RPC methods that stop, start, reboot, rebuild and shelve instances."""

from typing import Any

from conductor.endpoints.endpoint import ConductorEndpoint
from conductor.requests import operations, power, requested_changes, shelving
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class PowerEndpoint(ConductorEndpoint):
    @expose
    def stop_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._conductor, uuids, power.stop, "stop_instances", ctxt.sender_project)

    @expose
    def start_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._conductor, uuids, power.start, "start_instances", ctxt.sender_project)

    @expose
    def reboot_instances(self, ctxt: RequestContext, uuids: list[str], hard: bool = False) -> None:
        operations.reboot(self._conductor, uuids, hard=hard, project=ctxt.sender_project)

    @expose
    def rebuild_instances(self, ctxt: RequestContext, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        operations.rebuild(self._conductor, ctxt, uuids, ctxt.sender_project, image)

    @expose
    def shelve_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._conductor, uuids, shelving.shelve, "shelve_instances", ctxt.sender_project)

    @expose
    def offload_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._conductor, uuids, shelving.offload, "offload_instances", ctxt.sender_project)

    @expose
    def unshelve_instances(self, ctxt: RequestContext, uuids: list[str], host: str | None = None) -> None:
        shelving.unshelve_instances(self._conductor, ctxt, uuids, host, ctxt.sender_project)
