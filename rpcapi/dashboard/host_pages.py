# SPDX-License-Identifier: Apache-2.0
"""Pages of hosts: heat map and single host."""

import gzip
import json
from collections.abc import Sequence
from typing import Any

from webob import Response

from rpcapi.dashboard import decision_log, host_list
from rpcapi.dashboard.actions import DONE, HostActions
from rpcapi.dashboard.cluster import CachedCluster
from rpcapi.dashboard.host_list import STATES, Amounts, Host
from rpcapi.dashboard.pages import Page, PageNotFound, PageRequest
from rpcapi.resources import names

NO_AMOUNTS = Amounts(0, 0)
UNGROUPED = "-"  # hosts without zone or aggregate
ROWS = 100  # hosts in the table below the map
RECENT = 20  # decisions of a host
GROUPS = {"zone": "availability zone", "aggregate": "aggregate", "partition": "partition", "none": "nothing"}


def heat_map_document(hosts: Sequence[Host], resource_class: str, group_by: str) -> dict[str, Any]:
    """Return columns by host, and host indexes by ``group_by``: zone, aggregate, partition, or "" for one group."""
    amounts = [host.amounts.get(resource_class, NO_AMOUNTS) for host in hosts]
    groups: dict[str, list[int]] = {}
    for place, host in enumerate(hosts):
        for group in _groups(host, group_by):
            groups.setdefault(group, []).append(place)
    return {
        "class": resource_class,
        "states": STATES,
        "names": [host.name for host in hosts],
        "state": [STATES.index(host.state) for host in hosts],
        "used": [item.used for item in amounts],
        "capacity": [item.capacity for item in amounts],
        "groups": [{"name": name, "hosts": groups[name]} for name in sorted(groups)],
    }


def _groups(host: Host, group_by: str) -> Sequence[str]:
    groups = {"zone": host.zones, "aggregate": host.aggregates, "partition": [host.partition]}
    return groups.get(group_by, [""]) or [UNGROUPED]


class HostPages:
    def __init__(self, cluster: CachedCluster, actions: HostActions | None) -> None:
        self._cluster = cluster
        self._actions = actions

    def show_all(self, request: PageRequest) -> Page:
        listed = self._cluster.hosts.get()
        resource_class, group_by = self._choices(request, listed)
        zone, aggregate, text = request.text("zone"), request.text("aggregate"), request.text("text")
        selected = listed.select(zone, aggregate, text)
        fullest = sorted(selected, key=lambda host: _used_share(host, resource_class), reverse=True)
        values = {
            "listed": listed,
            "selected": selected,
            "rows": fullest[:ROWS],
            "total": host_list.total(selected, resource_class),
            "states": host_list.count_states(selected),
            "resource_class": resource_class,
            "group_by": group_by,
            "groups": GROUPS,
            "zone": zone,
            "aggregate": aggregate,
            "text": text,
            "stale": listed.stale,
            "query": request.http.query_string,
            "refresh_interval": self._cluster.refresh_interval,
        }
        return Page("hosts.html", values)

    def heat_map(self, request: PageRequest) -> Response:
        listed = self._cluster.hosts.get()
        if listed.version in request.http.if_none_match:
            return Response(status=304, headers={"ETag": f'"{listed.version}"'})
        resource_class, group_by = self._choices(request, listed)
        selected = listed.select(request.text("zone"), request.text("aggregate"), request.text("text"))
        response = Response(content_type="application/json", charset="UTF-8")
        response.etag = listed.version
        response.cache_control = "no-cache"
        document = heat_map_document(selected, resource_class, "" if group_by == "none" else group_by)
        response.body = json.dumps(document, separators=(",", ":")).encode()
        if "gzip" in request.http.headers.get("Accept-Encoding", ""):
            response.body = gzip.compress(response.body, compresslevel=1)
            response.content_encoding = "gzip"
        return response

    def show(self, request: PageRequest, name: str) -> Page:
        listed = self._cluster.hosts.get()
        host = listed.find(name)
        if host is None:
            raise PageNotFound(f"There is no host {name[:80]}.")
        migrations = self._cluster.migrations()
        moves = [move for move in migrations or () if host.id in (move.source_host, move.destination_host)]
        values = {
            "host": host,
            "tree": _tree(listed, host),
            "service": listed.service(host),
            "is_stale": host.partition in listed.stale,
            "claims": self._cluster.claims_on(host),
            "decisions": decision_log.newest(self._cluster.decisions.get(), RECENT, host=host.id),
            "migrations": None if migrations is None else moves[:RECENT],
            "has_agent": not names.is_api_provider(host.id),
            "may_act": self._actions is not None and request.login.person.may_act,
            "message": self._message(request, host),
        }
        return Page("host.html", values)

    def _message(self, request: PageRequest, host: host_list.Host) -> str:
        if self._actions is None:
            return ""
        return DONE.get(request.text("done"), "") or self._actions.drain_results.get(host.service_host, "")

    def _choices(self, request: PageRequest, listed: host_list.HostList) -> tuple[str, str]:
        classes = listed.classes()
        if not classes:
            return "", "none"
        resource_class = request.choice("class", dict.fromkeys(classes), classes[0])
        return resource_class, request.choice("group", GROUPS, "zone")


def _used_share(host: host_list.Host, resource_class: str) -> float:
    amounts = host.amounts.get(resource_class, NO_AMOUNTS)
    return amounts.used / amounts.capacity if amounts.capacity else 0.0


def _tree(listed: host_list.HostList, host: host_list.Host) -> list[tuple[int, Any]]:
    """Return (depth, provider) for each provider of a host's tree, children below their parents."""
    providers = listed.tree(host)
    ordered: list[tuple[int, Any]] = []
    rest = [(0, providers[0])]
    while rest:
        depth, provider = rest.pop()
        ordered.append((depth, provider))
        rest += [(depth + 1, child) for child in reversed(providers) if child.parent == provider.id]
    return ordered
