# SPDX-License-Identifier: Apache-2.0
"""RPC methods that boot and delete instances, and read their records."""

from conductor import instances
from conductor.endpoints.endpoint import ConductorEndpoint
from conductor.requests import builds, requested_changes
from conductor.requests.deletion import delete
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class InstanceEndpoint(ConductorEndpoint):
    @expose
    def build_instances(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        names: list[str] | None = None,
        first_sent: float | None = None,
    ) -> None:
        builds.build(self._conductor, ctxt, spec, uuids, names or (), first_sent=first_sent)

    @expose
    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._conductor, uuids, delete, "delete_instances", ctxt.sender_project)

    @expose
    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        return builds.quota(self._conductor, project)

    @expose
    def get_specs(self, ctxt: RequestContext, uuids: list[str]) -> list[objects.RequestSpec]:
        return instances.get_specs(self._conductor, uuids, ctxt.sender_project)

    @expose
    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        return instances.get_instances(self._conductor, uuids, ctxt.sender_project)

    @expose
    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        return instances.list_instances(
            self._conductor.store, marker, limit, deleted=deleted, project=ctxt.sender_project
        )
