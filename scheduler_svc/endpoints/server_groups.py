# SPDX-License-Identifier: Apache-2.0
"""RPC methods for server groups."""

from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from scheduler_svc.endpoints.metered import SchedulerEndpoint
from scheduler_svc.scheduling.server_groups import ServerGroups


class ServerGroupEndpoint(SchedulerEndpoint):
    """Methods for server groups. A client of one project reaches only that project's groups."""

    def __init__(self, groups: ServerGroups) -> None:
        self._groups = groups

    @expose
    def create_server_group(self, ctxt: RequestContext, group: objects.ServerGroup) -> objects.ServerGroup:
        return self._groups.create(group)

    @expose
    def get_server_group(self, ctxt: RequestContext, group_id: str, project: str | None = None) -> objects.ServerGroup:
        return self._groups.get(group_id, ctxt.sender_project or project)

    @expose
    def list_server_groups(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, *, project: str | None = None
    ) -> objects.ServerGroupPage:
        groups, following = self._groups.page(ctxt.sender_project or project, marker, limit)
        return objects.ServerGroupPage.of(groups=groups, marker=following)

    @expose
    def delete_server_group(self, ctxt: RequestContext, group_id: str) -> None:
        self._groups.delete(group_id, ctxt.sender_project)
