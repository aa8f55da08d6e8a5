# SPDX-License-Identifier: Apache-2.0
"""The dashboard in Chromium: each page, light and dark, as wide as a desktop and a phone, and by the keyboard.

Writes a picture of each page where GANTT_PICTURES names a folder; docs/pictures has some of them.
"""

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from devstack.cluster_size import ClusterSize
from devstack.layout import DASHBOARD
from rpcapi.admin.state_write import update_document
from tests.functional.dashboard.browser import PHONE, WIDE, Browser, need_chromium
from tests.functional.dashboard.visitor import gantt_json
from tests.support.clusters import clusters
from tests.support.clusters.booting import boot, boot_many
from tests.support.clusters.clusters import RunningCluster

pytestmark = [pytest.mark.dashboard, pytest.mark.timeout(600)]

SIZE = ClusterSize(computes=20, nodes_per_host=20, schedulers=1, dashboard_port=0, metrics=True)
LARGE = ClusterSize(computes=20, nodes_per_host=500, schedulers=1, dashboard_port=0)
MEMORY_MB = (57_344, 45_056, 28_672, 12_288, 131_072, 90_112)  # of servers, so that the map has every colour
PAGES = {
    "overview": "/",
    "hosts": "/hosts?class=MEMORY_MB",
    "host": "/hosts/compute03/node0",
    "claims": "/claims",
    "refusals": "/refusals",
    "explain": "/decisions",
    "decision": "/decisions?request_id={decision}",
    "dry-run": "/dry-run?flavor=m1.small&count=2&options=--trait+CUSTOM_FAST_DISK",
    "migrations": "/migrations",
    "groups": "/groups",
    "services": "/services",
    "missing": "/hosts/missing",
}
# Refused on purpose, so Chromium reports it.
EXPECTED_COMPLAINTS = ("the server responded with a status of 404",)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    """A cluster with servers of different sizes, a disabled host and some refusals."""
    need_chromium()
    with clusters.running_cluster(SIZE, {DASHBOARD: {"dashboard": {"refresh_interval": 1}}}) as running:
        for memory_mb in MEMORY_MB:
            boot_many(running, 80, resources={"VCPU": 2, "MEMORY_MB": memory_mb, "DISK_GB": 1})
        for zone in ("north", "south"):
            boot(running, availability_zone=zone)
        boot(running, required_traits=["CUSTOM_MISSING"])
        update_document(running.session, "service", "compute19", {"enabled": False, "disabled_reason": "a fan"})
        yield running


@pytest.fixture(scope="module")
def browser(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, signed in."""
    browser = Browser(cluster.cluster.dashboard_url, tmp_path_factory.mktemp("chromium"))
    try:
        browser.resize(WIDE)
        browser.sign_in(cluster.cluster.dashboard_token)
        yield browser
    finally:
        browser.close()


@pytest.fixture(scope="module")
def decision(cluster: RunningCluster) -> str:
    """The id of a request for which some hosts were refused, and one was selected."""
    instance = boot(cluster, required_traits=["CUSTOM_FAST_DISK"])
    assert instance.status == "ACTIVE", instance.reason
    return instance.request_id


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_page_is_accessible_and_fits(
    browser: Browser, decision: str, name: str, size: tuple[int, int], scheme: str
) -> None:
    browser.resize(size)
    browser.prefer(scheme)
    browser.complaints()

    browser.open(PAGES[name].format(decision=decision))
    if name == "hosts":
        browser.drawn_cells()

    assert browser.violations() == []
    complaints = [line for line in browser.complaints() if not any(text in line for text in EXPECTED_COMPLAINTS)]
    assert complaints == []
    width = browser.run("return document.documentElement.scrollWidth")
    assert width <= size[0], "the page must not scroll sideways"
    keep_picture(browser, f"{name}-{'phone' if size == PHONE else 'wide'}-{scheme}")


def keep_picture(browser: Browser, name: str) -> None:
    folder = os.environ.get("GANTT_PICTURES")
    if folder:
        (Path(folder) / f"{name}.png").write_bytes(browser.screenshot())


def test_sign_in_page_is_accessible(cluster: RunningCluster, tmp_path: Path) -> None:
    stranger = Browser(cluster.cluster.dashboard_url, tmp_path)
    try:
        stranger.open("/hosts")
        assert stranger.text("h1") == "Sign in"
        assert stranger.violations() == []
        stranger.find("input[name=token]").send_keys("x" * 32, Keys.ENTER)
        assert stranger.text("[role=alert]") == "Invalid token."
        assert stranger.violations() == []
    finally:
        stranger.close()


def test_heat_map_has_a_cell_for_each_host(browser: Browser) -> None:
    browser.open("/hosts?class=VCPU&group=partition")
    assert browser.drawn_cells() == SIZE.nodes

    browser.open("/hosts?class=VCPU&text=compute03")
    assert browser.drawn_cells() == 20


def test_heat_map_follows_the_cluster(browser: Browser, cluster: RunningCluster) -> None:
    browser.resize(WIDE)
    browser.open("/hosts?class=VCPU&text=compute18/node7")
    browser.drawn_cells()
    before = pixel(browser)
    node = next(host for host in gantt_json(cluster, "host", "list") if host["name"] == "compute18/node7")

    boot(cluster, force_hosts=["compute18/node7"], resources={"VCPU": node["vcpu_free"], "MEMORY_MB": 1, "DISK_GB": 1})

    browser.wait(lambda: pixel(browser) != before)


def pixel(browser: Browser) -> list[int]:
    """Return the colour in the middle of the first host's cell."""
    return browser.run(
        "const c = document.getElementById('heat-map');return [...c.getContext('2d').getImageData(12, 34, 1, 1).data];"
    )


def test_pages_are_used_by_the_keyboard(browser: Browser) -> None:
    browser.resize(WIDE)
    browser.open("/hosts?class=VCPU")
    browser.drawn_cells()
    body = browser.find("body")
    body.send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.textContent") == "Skip to the content"

    canvas = browser.find("#heat-map")
    canvas.send_keys(Keys.ARROW_RIGHT)
    first = browser.text("#heat-map-host")
    assert first.startswith("compute00/node0: up, ")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert browser.text("#heat-map-host") != first
    canvas.send_keys(Keys.END)
    assert browser.text("#heat-map-host").startswith("compute19/node9: disabled, ")
    canvas.send_keys(Keys.HOME, Keys.ENTER)

    browser.wait(lambda: browser.text("h1") == "compute00/node0")


def test_pages_work_without_scripts(browser: Browser) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open("/hosts?class=VCPU")
        assert len(browser.find_all("tbody tr")) == 100
        browser.open("/refusals")
        assert len(browser.find_all("svg.chart rect")) >= 1
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_ten_thousand_hosts_are_drawn(tmp_path: Path) -> None:
    need_chromium()
    with clusters.running_cluster(LARGE) as running:
        browser = Browser(running.cluster.dashboard_url, tmp_path)
        try:
            browser.resize(WIDE)
            browser.sign_in(running.cluster.dashboard_token)
            browser.open("/hosts?class=VCPU&group=zone")
            assert browser.drawn_cells() == 10_000
            canvas = browser.find("#heat-map")
            canvas.send_keys(Keys.ARROW_DOWN * 10)
            times = browser.run(
                "const c = document.getElementById('heat-map');"
                "return Array.from({length: 50}, () => {"
                "const start = performance.now();"
                "c.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));"
                "return performance.now() - start;});"
            )
            milliseconds = statistics.median(times)
            print(f"10,000 hosts are drawn in {milliseconds:.1f} ms")
            assert browser.text("#heat-map-host").startswith("compute")
            keep_picture(browser, "ten-thousand")
        finally:
            browser.close()
