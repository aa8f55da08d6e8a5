# SPDX-License-Identifier: Apache-2.0
"""Page of server groups, with creation and deletion if [dashboard] actions allows them."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from oslo_log import log
from webob import Response

from rpcapi import objects
from rpcapi.admin import groups
from rpcapi.dashboard.cluster import CachedCluster
from rpcapi.dashboard.pages import BadInput, Page, PageRequest
from rpcapi.resources.claims import GroupPolicy

LOG = log.getLogger(__name__)
MAX_ROWS = 500
MAX_LIMIT = 1_000_000  # members on one node
# Messages by URL parameter ``done``.
DONE = {"created": "The group is created.", "deleted": "The group is deleted."}


class GroupPages:
    def __init__(self, cluster: CachedCluster, *, has_actions: bool) -> None:
        self._cluster = cluster
        self._has_actions = has_actions
        self._actions: Mapping[str, Callable[[PageRequest], str]] = {"create": self._create, "delete": self._delete}

    def show_all(self, request: PageRequest) -> Page:
        listed = self._cluster.groups.get()
        text = request.text("text")
        rows = [group for group in listed if not text or text in (group.id, group.name, group.project)]
        values = {
            "rows": rows[:MAX_ROWS],
            "count": len(rows),
            "text": text,
            "policies": tuple(GroupPolicy),
            "message": DONE.get(request.text("done"), ""),
            "may_act": self._has_actions and request.login.person.may_act,
        }
        return Page("groups.html", values)

    def change(self, request: PageRequest) -> Page | Response:
        person = request.login.person
        if not person.may_act:
            return Page("error.html", {"status": 403, "why": f"{person.name} may not change server groups."}, 403)
        action = self._actions.get(request.http.POST.get("action", ""))
        if action is None:
            raise BadInput(f"action must be one of {', '.join(self._actions)}.")
        done = action(request)
        self._cluster.groups.expire()
        return Response(status=303, headers={"Location": f"/groups?done={quote(done)}"})

    def _create(self, request: PageRequest) -> str:
        form = request.http.POST
        limit = form.get("max_per_host", "").strip() or "1"
        if not (limit.isascii() and limit.isdigit() and 0 < int(limit[:10]) <= MAX_LIMIT):
            raise BadInput(f"The members on one node must be a number from 1 to {MAX_LIMIT}.")
        name, project = form.get("name", "").strip(), form.get("project", "").strip()
        if not name or not project:
            raise BadInput("A server group needs a name and a project.")
        group = groups.create_group(request.session, name, form.get("policy", ""), int(limit), project=project)
        _log("created", group, request)
        return "created"

    def _delete(self, request: PageRequest) -> str:
        group_id = request.http.POST.get("group", "")
        group = request.session.call(request.session.scheduler.get_server_group, group_id)
        request.session.call(request.session.scheduler.delete_server_group, group_id)
        _log("deleted", group, request)
        return "deleted"


def _log(done: str, group: objects.ServerGroup, request: PageRequest) -> None:
    LOG.warning("Server group %s of project %s %s by %s", group.id, group.project, done, request.login.person.name)
