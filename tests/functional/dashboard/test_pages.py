# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a real cluster: who may see it, what its pages show, and that it changes nothing."""

import contextlib
import json
import os
import re
import signal
import urllib.parse
import uuid
from collections.abc import Iterator

import pytest

from devstack.cluster_size import ClusterSize
from devstack.layout import DASHBOARD
from rpcapi import errors, objects
from rpcapi.admin.session import Session
from rpcapi.admin.state_write import update_document
from tests.functional.dashboard.visitor import Visitor, eventually, gantt_json, is_served, shown
from tests.support.clusters import clusters
from tests.support.clusters.booting import SERVER_RESOURCES, boot, gantt
from tests.support.clusters.clusters import RunningCluster
from tests.support.slow_clients import IN_BODY, IN_HEADER, slow_clients

SIZE = ClusterSize(computes=2, nodes_per_host=2, schedulers=1, dashboard_port=0, metrics=True)
MAP = "/heat-map?class=VCPU&group=zone"
PAGES = ("/", "/hosts", "/claims", "/refusals", "/decisions", "/dry-run", "/migrations", "/groups", "/services")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SIZE, {DASHBOARD: {"dashboard": {"refresh_interval": 1}}}) as running:
        for _ in range(3):
            boot(running)
        yield running


@pytest.fixture
def stranger(cluster: RunningCluster) -> Visitor:
    """A browser that has not signed in."""
    visitor = Visitor(cluster.cluster.dashboard_url)
    eventually(lambda: is_served(visitor), "the dashboard")
    return visitor


@pytest.fixture
def visitor(cluster: RunningCluster, stranger: Visitor) -> Visitor:
    """A browser that has signed in."""
    assert stranger.sign_in(cluster.cluster.dashboard_token).status == 200
    return stranger


@pytest.mark.parametrize(
    "path", [*PAGES, "/hosts/compute0/node0", "/heat-map?class=VCPU", "/decisions/req-1", "/nothing"]
)
def test_nothing_is_shown_without_signing_in(stranger: Visitor, path: str) -> None:
    answer = stranger.get(path)

    assert answer.path.startswith("/sign-in?next=")
    assert answer.heading == "Sign in"
    assert "confirmed" not in answer.text


@pytest.mark.parametrize("begin", [b"", IN_HEADER, IN_BODY])
def test_pages_and_metrics_are_served_beside_slow_clients(
    visitor: Visitor, cluster: RunningCluster, begin: bytes
) -> None:
    ports = cluster.cluster.size.metrics_ports
    with contextlib.ExitStack() as stack:
        for port in (urllib.parse.urlsplit(visitor.url).port or 0, *ports.values()):
            stack.enter_context(slow_clients(port, begin))
        assert [visitor.get(path).status for path in PAGES] == [200] * len(PAGES)
        for port in ports.values():
            assert "gantt_build_info" in Visitor(f"http://127.0.0.1:{port}").get("/metrics").text


def test_wrong_token_is_refused(stranger: Visitor) -> None:
    answer = stranger.sign_in("x" * 32)

    assert (answer.status, answer.alert) == (401, "Invalid token.")
    assert not list(stranger.cookies)
    assert stranger.get("/").heading == "Sign in"


def test_signing_in_leads_to_the_page_that_was_requested(stranger: Visitor, cluster: RunningCluster) -> None:
    assert stranger.sign_in(cluster.cluster.dashboard_token, "/hosts?class=MEMORY_MB").path == "/hosts?class=MEMORY_MB"


@pytest.mark.parametrize("target", ["https://example.org/", "//example.org/", "/\\example.org", "javascript:alert(1)"])
def test_signing_in_leads_to_no_other_site(stranger: Visitor, cluster: RunningCluster, target: str) -> None:
    assert stranger.sign_in(cluster.cluster.dashboard_token, target).path == "/"


def test_cookie_is_out_of_reach_of_scripts_and_other_sites(visitor: Visitor) -> None:
    (cookie,) = visitor.cookies
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite").lower() == "lax"


def test_altered_cookie_is_none(visitor: Visitor) -> None:
    (cookie,) = visitor.cookies
    cookie.value = ("A" if cookie.value[0] != "A" else "B") + cookie.value[1:]

    assert visitor.get("/").heading == "Sign in"


def test_signing_out_ends_the_session(visitor: Visitor) -> None:
    token = re.search(r'csrf_token" value="([0-9a-f]+)', visitor.get("/").text)[1]

    assert visitor.post("/sign-out", {"csrf_token": token}).heading == "Sign in"
    assert visitor.get("/hosts").heading == "Sign in"


@pytest.mark.parametrize("path", [*PAGES, "/hosts/compute0/node0", "/nothing"])
def test_headers_let_a_page_load_nothing_from_outside(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)

    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    assert not re.search(r"(src|href)=\"(https?:)?//", answer.text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! type=\"module\" src=)", answer.text)


def test_overview_shows_partitions_and_amounts(visitor: Visitor) -> None:
    text = eventually(lambda: shown(visitor, "/", "3 of 384 (0.8 %)"), "the vCPUs of the servers")

    assert "<strong>4</strong> hosts" in text
    assert "3 confirmed" in text
    assert "No host is awaited" in text


def test_hosts_are_listed_and_selected(visitor: Visitor) -> None:
    assert "compute1/node1" in visitor.get("/hosts").text
    selected = visitor.get("/hosts?text=compute0&class=MEMORY_MB&group=partition").text
    assert "2 hosts, 2 up." in selected
    assert "compute1/node1" not in selected
    assert "No host fits." in visitor.get("/hosts?zone=nowhere").text


def test_heat_map_has_the_amounts_of_the_store(visitor: Visitor, cluster: RunningCluster) -> None:
    used = {host["name"]: host["vcpu_used"] for host in gantt_json(cluster, "host", "list")}
    assert sum(used.values()) == 3

    def read() -> dict:
        return json.loads(visitor.get(MAP).text)

    eventually(lambda: dict(zip(read()["names"], read()["used"], strict=True)) == used, "the amounts of the store")
    assert read()["groups"] == [{"name": "nova", "hosts": [0, 1, 2, 3]}]
    assert read()["capacity"] == [64, 64, 64, 192]


def test_heat_map_is_not_sent_again_before_it_changes(visitor: Visitor) -> None:
    answer = visitor.get(MAP)

    unchanged = visitor.get(MAP, {"If-None-Match": answer.headers["ETag"]})

    assert (unchanged.status, unchanged.text) == (304, "")


def section(text: str, name: str) -> str:
    """Return a section of a page."""
    return re.search(rf'<h2 id="{name}">(.*?)</section>', text, re.S)[1]


def test_host_shows_its_tree_claims_and_decisions(visitor: Visitor, cluster: RunningCluster) -> None:
    server = gantt_json(cluster, "server", "list")[0]

    text = visitor.get(f"/hosts/{server['host']}").text

    assert re.search(rf">{server['host']}</span>.*<td>VCPU</td>", section(text, "tree"), re.S)
    assert re.search(rf'{server["uuid"]}.*<span class="state confirmed">', section(text, "claims"))
    assert "/decisions/req-" in section(text, "history")


def test_claim_in_flight_is_shown_until_its_host_confirms(visitor: Visitor, cluster: RunningCluster) -> None:
    agents = clusters.workers(cluster.cluster.daemons["compute"])
    server = str(uuid.uuid4())
    for pid in agents:
        os.kill(pid, signal.SIGSTOP)
    try:
        spec = objects.RequestSpec.of(flavor="m1.tiny", resources=SERVER_RESOURCES)
        cluster.session.call(cluster.session.conductor.build_instances, spec, [server])

        eventually(lambda: shown(visitor, "/claims", server), "the prepared claim")
        eventually(lambda: shown(visitor, "/claims", "<strong>1</strong> prepared in default"), "the number of claims")
    finally:
        for pid in agents:
            os.kill(pid, signal.SIGCONT)

    eventually(lambda: shown(visitor, "/claims", '<td colspan="8">None.</td>'), "no claim in flight")
    assert server not in visitor.get("/claims").text


def test_refusals_are_counted_and_explained(visitor: Visitor, cluster: RunningCluster) -> None:
    assert boot(cluster, required_traits=["CUSTOM_MISSING"]).status == "ERROR"

    page = eventually(lambda: shown(visitor, "/refusals", "required traits: 1"), "the refusal")

    assert re.search(r'<rect class="series-0" [^>]*><title>[^<]*: 1 required traits</title>', page)
    request_id = re.search(r'href="/decisions/(req-[0-9a-f-]+)"', page)[1]
    assert request_id in section(visitor.get("/").text, "refused")
    assert request_id in visitor.get("/decisions").text
    explained = visitor.get(f"/decisions/{request_id}").text
    assert "4 of 4" in explained
    assert "CUSTOM_MISSING" in explained
    assert visitor.get(f"/decisions?request_id={request_id}").heading == f"Request {request_id}"


def test_selected_request_is_explained_by_scores_and_the_answer_of_its_claim(
    visitor: Visitor, cluster: RunningCluster
) -> None:
    uuid = gantt_json(cluster, "server", "list")[0]["uuid"]
    server = gantt_json(cluster, "server", "show", uuid)

    text = visitor.get(f"/decisions/{server['request_id']}").text

    assert "<dt>Hosts considered</dt><dd>4</dd>" in text
    host = f'<a href="/hosts/{server["host"]}">{server["host"]}</a>'
    score = r"\d+\.\d{3}"
    assert re.search(rf'{host}</th><td class="number">{score}</td><td>.*FreeShareWeigher \+\d', section(text, "best"))
    assert f"{uuid}</th><td>prepared</td><td>{host}</td>" in section(text, "answers")


def test_dry_run_decides_and_claims_nothing(visitor: Visitor, cluster: RunningCluster) -> None:
    claims = gantt_json(cluster, "claim", "list")

    answer = visitor.get("/dry-run?flavor=m1.small&count=2&options=--not-host+compute0")

    assert 'class="state selected"' in answer.text
    assert "compute1/node" in answer.text
    assert "/hosts/compute0/node0" not in re.search(r"Hosts that would be tried</h2>(.*?)</ol>", answer.text, re.S)[1]
    assert gantt_json(cluster, "claim", "list") == claims


@pytest.mark.parametrize(
    ("path", "status", "why"),
    [
        ("/hosts?class=NONE", 400, "class must be one of VCPU,"),
        ("/hosts?group=rack", 400, "group must be one of zone, aggregate, partition, none, not 'rack'."),
        ("/refusals?minutes=7", 400, "minutes must be one of 15, 60, 360, 1440, not '7'."),
        ("/dry-run?flavor=m1.tiny&count=0", 400, "count must be a number from 1 to "),
        ("/dry-run?flavor=m1.tiny&count=9999999999999999999999", 400, "count must be a number from 1 to "),
        ("/dry-run?flavor=none", 400, "Unknown flavor 'none'"),
        ("/dry-run?flavor=m1.tiny&options=--unknown", 400, "unrecognized arguments: --unknown"),
        ("/dry-run?flavor=m1.tiny&options='", 400, "options cannot be read"),
        ("/hosts/none", 404, "There is no host none."),
        ("/decisions/req-none", 404, "req-none"),
        ("/%FF", 400, "utf-8"),
        ("/static/secret.css", 404, "There is no file secret.css."),
    ],
)
def test_bad_input_is_named(visitor: Visitor, path: str, status: int, why: str) -> None:
    answer = visitor.get(path)

    assert answer.status == status
    assert why in answer.alert


@pytest.mark.parametrize("path", ["/static/../application.py", "/static/%2e%2e/application.py", "/static//etc/passwd"])
def test_only_files_of_pages_are_served(visitor: Visitor, path: str) -> None:
    assert visitor.get(path).status == 404


def test_what_a_request_says_is_shown_as_text(visitor: Visitor) -> None:
    answer = visitor.get("/hosts/%3Cscript%3Ealert(1)%3C/script%3E")

    assert answer.status == 404
    assert "<script>alert(1)</script>" in answer.alert
    assert "<script>alert" not in answer.text


def test_hosts_cannot_be_changed_without_the_switch(visitor: Visitor) -> None:
    assert "Actions" not in visitor.get("/hosts/compute0/node0").text
    assert visitor.submit("/hosts/compute0/node0", action="disable", reason="x").status == 405


def test_the_brokers_user_of_the_dashboard_may_only_read(cluster: RunningCluster) -> None:
    session = Session([str(cluster.cluster.layout.conf(DASHBOARD))])
    try:
        assert session.call(session.scheduler.list_partitions).hosts == [4]
        with pytest.raises(errors.CallerRefused, match="user 'reader'"):
            update_document(session, "service", "compute0", {"enabled": False})
        with pytest.raises(errors.CallerRefused, match="user 'reader'"):
            session.call(session.claims.fence_host, "compute0", "token", force=True)
        with pytest.raises(errors.CallerRefused, match="user 'reader'"):
            session.call(session.conductor.delete_instances, [])
    finally:
        session.close()


def test_services_show_how_far_workers_are_behind(visitor: Visitor) -> None:
    text = visitor.get("/services").text

    services = section(text, "services")
    for service in ("gantt-conductor", "gantt-scheduler"):
        assert re.search(rf'>{service}</th><td>[^<]+</td><td><span class="state up">up</span>', services)
    worker = r'<th scope="row">127.0.0.1:\d+</th><td class="number">0</td><td>default</td><td class="number">\d+</td>'
    assert re.search(worker, section(text, "freshness"))
    assert "state down" not in text


def test_live_migration_is_shown_with_its_progress(visitor: Visitor, cluster: RunningCluster) -> None:
    size = {"VCPU": 1, "MEMORY_MB": 4096, "DISK_GB": 1}  # seconds of a copy at 1,000 MiB a second
    server = boot(cluster, resources=size).uuid
    gantt(cluster, "server", "live-migrate", server)

    page = eventually(lambda: shown(visitor, "/migrations", " MiB left"), "the progress")

    assert re.search(rf'{server}</td><td>live-migration</td>.*<progress max="5120" value="\d+"', page, re.S)
    eventually(lambda: shown(visitor, "/migrations", '<span class="state completed">'), "the end of the copy")
    gantt(cluster, "server", "delete", "--wait", server)


def test_disabled_hosts_are_shown(visitor: Visitor, cluster: RunningCluster) -> None:
    gantt(cluster, "host", "disable", "compute1", "--reason", "a disk")

    eventually(lambda: shown(visitor, "/hosts", "2 disabled"), "the disabled hosts")

    assert "a disk" in visitor.get("/hosts/compute1/node0").text
    gantt(cluster, "host", "enable", "compute1")
    eventually(lambda: shown(visitor, "/hosts", "4 hosts, 4 up."), "the enabled hosts")


def test_pages_say_that_the_store_is_away_and_return_with_it(visitor: Visitor, cluster: RunningCluster) -> None:
    cluster.cluster.store.kill()

    eventually(lambda: shown(visitor, "/", '<span class="state down">down</span>'), "the missing store")

    assert visitor.get("/hosts/compute0/node0").status == 503
    eventually(lambda: shown(visitor, "/hosts", "The store of default does not answer"), "the note")
    cluster.cluster.store.start()
    eventually(lambda: visitor.get("/hosts/compute0/node0").status == 200, "the store's return")


def test_restart_ends_all_sessions(visitor: Visitor, cluster: RunningCluster) -> None:
    clusters.restart(cluster, DASHBOARD)
    eventually(lambda: is_served(visitor), "the dashboard")

    assert visitor.get("/").heading == "Sign in"
