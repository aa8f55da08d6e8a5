# SPDX-License-Identifier: Apache-2.0
"""Changes of hosts by the dashboard, where [dashboard] actions allows them."""

from collections.abc import Iterator

import pytest

from devstack.cluster_size import ClusterSize
from devstack.layout import DASHBOARD
from rpcapi.admin.state_write import update_document
from tests.functional.dashboard.visitor import Visitor, eventually, gantt_json, is_served, shown
from tests.support.clusters import clusters
from tests.support.clusters.booting import boot, gantt
from tests.support.clusters.clusters import RunningCluster

SIZE = ClusterSize(computes=2, nodes_per_host=1, schedulers=1, dashboard_port=0)
HOST = "compute0"
PAGE = f"/hosts/{HOST}/node0"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    options = {
        DASHBOARD: {"dashboard": {"refresh_interval": 1, "actions": True}},
        "scheduler": {"store": {"service_down_time": 5}},
        "compute": {"compute": {"report_interval": 1}},
    }
    with clusters.running_cluster(SIZE, options, ready=False) as running:
        conf = running.cluster.layout.conf(DASHBOARD)
        bus = running.cluster.bus
        conf.write_text(conf.read_text().replace(bus.bus_url("reader"), bus.bus_url("operator")))
        clusters.restart(running, DASHBOARD)
        eventually(lambda: len(gantt_json(running, "host", "list")) == SIZE.nodes, "the hosts")
        yield running


@pytest.fixture
def visitor(cluster: RunningCluster) -> Visitor:
    """A browser that has signed in."""
    visitor = Visitor(cluster.cluster.dashboard_url)
    eventually(lambda: is_served(visitor), "the dashboard")
    visitor.sign_in(cluster.cluster.dashboard_token)
    eventually(lambda: visitor.get(PAGE).status == 200, "the host")
    return visitor


def service(cluster: RunningCluster) -> dict:
    return gantt_json(cluster, "host", "show", HOST)


def claims(cluster: RunningCluster) -> list[dict]:
    """Return the claims on the host."""
    return [claim for claim in gantt_json(cluster, "claim", "list") if claim["host"].startswith(f"{HOST}/")]


@pytest.mark.parametrize("form", [{}, {"csrf_token": "0" * 64}])
def test_form_of_another_page_is_refused(visitor: Visitor, cluster: RunningCluster, form: dict[str, str]) -> None:
    answer = visitor.post(PAGE, {"action": "disable", "reason": "x", **form})

    assert (answer.status, answer.alert) == (403, "This form belongs to another session. Reload the page.")
    assert service(cluster)["enabled"]


def test_form_of_another_session_is_refused(visitor: Visitor, cluster: RunningCluster) -> None:
    other = Visitor(visitor.url)
    other.sign_in(cluster.cluster.dashboard_token)
    (token,) = {line for line in other.get(PAGE).text.split('"') if len(line) == 64}

    assert visitor.post(PAGE, {"action": "disable", "reason": "x", "csrf_token": token}).status == 403
    assert service(cluster)["enabled"]


def test_form_of_another_site_is_refused(visitor: Visitor, cluster: RunningCluster) -> None:
    answer = visitor.post(PAGE, {"action": "disable"}, {"Origin": "https://example.org"})

    assert (answer.status, answer.alert) == (400, "This form was sent by a page of another site.")


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"action": "disable", "reason": " "}, "give a reason"),
        ({"action": "disable", "reason": "x" * 201}, "at most 200 characters"),
        ({"action": "fence", "confirm": "compute1"}, "write its name"),
        ({"action": "remove"}, "action must be one of enable, disable, drain, fence."),
        ({}, "action must be one of"),
    ],
)
def test_bad_forms_change_nothing(visitor: Visitor, cluster: RunningCluster, form: dict[str, str], why: str) -> None:
    before = service(cluster)["service_version"]

    answer = visitor.submit(PAGE, **form)

    assert answer.status == 400
    assert why in answer.alert
    assert service(cluster)["service_version"] == before


def test_host_is_disabled_and_enabled(visitor: Visitor, cluster: RunningCluster) -> None:
    assert "The host is disabled." in visitor.submit(PAGE, action="disable", reason="a fan").text
    shown_host = service(cluster)
    assert (shown_host["enabled"], shown_host["disabled_reason"]) == (False, "a fan")
    eventually(lambda: shown(visitor, PAGE, "Enable</button>"), "the disabled host")

    assert "The host is enabled." in visitor.submit(PAGE, action="enable").text
    assert service(cluster)["enabled"]


def test_server_group_is_created_and_deleted(visitor: Visitor, cluster: RunningCluster) -> None:
    form = {"name": "web", "project": "default", "policy": "anti-affinity", "max_per_host": "2"}
    assert "The group is created." in visitor.submit("/groups", action="create", **form).text
    (group,) = gantt_json(cluster, "group", "list")
    assert (group["name"], group["policy"], group["members"]) == ("web", "anti-affinity", 0)
    assert "at most 2 on a node" in visitor.get("/groups").text

    server = boot(cluster, group_id=group["group"])
    answer = visitor.submit("/groups", action="delete", group=group["group"])
    assert (answer.status, "has members (1)" in answer.alert) == (409, True)

    gantt(cluster, "server", "delete", server.uuid, "--wait")
    assert "The group is deleted." in visitor.submit("/groups", action="delete", group=group["group"]).text
    assert gantt_json(cluster, "group", "list") == []


@pytest.mark.parametrize(
    ("form", "status", "why"),
    [
        ({"action": "create", "name": "web"}, 400, "needs a name and a project"),
        ({"action": "create", "name": "web", "project": "p", "policy": "apart"}, 400, "group_policy must be one of"),
        ({"action": "create", "name": "web", "project": "p", "max_per_host": "x"}, 400, "must be a number"),
        ({"action": "delete", "group": "web"}, 404, "was not found"),
        ({"action": "change"}, 400, "action must be one of create, delete."),
    ],
)
def test_bad_forms_of_groups_change_nothing(
    visitor: Visitor, cluster: RunningCluster, form: dict[str, str], status: int, why: str
) -> None:
    answer = visitor.submit("/groups", **form)
    assert (answer.status, why in answer.alert) == (status, True), answer.alert
    assert gantt_json(cluster, "group", "list") == []


def test_host_that_is_up_is_not_fenced(visitor: Visitor) -> None:
    answer = visitor.submit(PAGE, action="fence", confirm=HOST)

    assert answer.status == 409
    assert HOST in answer.alert


def test_drained_host_has_no_servers(visitor: Visitor, cluster: RunningCluster) -> None:
    uuids = {boot(cluster, force_hosts=[HOST]).uuid for _ in range(2)}

    assert "The host is being drained." in visitor.submit(PAGE, action="drain").text

    def is_drained() -> bool:
        servers = gantt_json(cluster, "server", "list")
        return all(not (server["host"] or "").startswith(HOST) and server["status"] == "ACTIVE" for server in servers)

    eventually(is_drained, "the end of the drain")
    assert uuids == {server["uuid"] for server in gantt_json(cluster, "server", "list")}
    assert service(cluster)["disabled_reason"] == "drained"
    eventually(lambda: shown(visitor, "/migrations", "completed"), "the migrations")
    eventually(lambda: shown(visitor, PAGE, "The drain has ended: 2 of 2 servers are moved."), "the result")
    gantt(cluster, "claim", "verify")


def test_host_that_is_down_is_fenced(visitor: Visitor, cluster: RunningCluster) -> None:
    update_document(cluster.session, "service", HOST, {"enabled": True, "disabled_reason": None})
    assert boot(cluster, force_hosts=[HOST]).status == "ACTIVE"
    assert claims(cluster)
    cluster.cluster.daemons["compute"].kill_group()
    eventually(lambda: service(cluster)["state"] == "down", "the end of the host", seconds=90)
    eventually(lambda: shown(visitor, "/hosts", "2 hosts, 2 down."), "the hosts that are down")

    answer = visitor.submit(PAGE, action="fence", confirm=HOST)

    assert "The host is fenced" in answer.text
    assert claims(cluster) == []
