# SPDX-License-Identifier: Apache-2.0
"""A cluster that Prometheus scrapes: targets, the dashboard's queries and the alert rules, on what a run exports."""

import json
import os
import re
import signal
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from devstack.deploy.monitoring import dashboard, prometheus
from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.process import ServerProcess
from tests.functional.placement_deployment import READY_SECONDS
from tests.support.clusters import booting, clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.monitoring import RULES, declared
from tests.support.servers import missing

SERVERS = 3
SIZE = ClusterSize(computes=2, nodes_per_host=2, schedulers=2, placement_port=0, metrics=True)
REQUEST_SECONDS, STOP_SECONDS = 10.0, 10.0
RATE_INTERVAL = "1m"  # what Grafana would put in the place of $__rate_interval
# Metrics of events that this run has none of.
WITHOUT_SERIES = (
    "gantt_scheduler_plugin_errors_total",
    "gantt_conductor_saga_retries_total",
    "gantt_conductor_migrations_total",
    "gantt_compute_unserved_hosts",
)
# Of gantt's metrics in the conditions of alerts, with labels whose values the run has to export.
SELECTORS = sorted(
    {selector for rule in RULES for selector in re.findall(r"\b(?:gantt_[a-z_]+|up)\b(?:\{[^}]*\})?", rule["expr"])}
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SIZE) as running:
        assert running.cluster.placement_url is not None
        exercise.wait_for_placement(running.cluster.placement_url, READY_SECONDS)
        booting.gantt(running, "aggregate", "set", "rack1", "--host", "compute0")
        for _ in range(SERVERS):
            booting.boot_host(running)
        assert booting.boot(running, required_traits=["CUSTOM_MISSING"]).status == "ERROR"
        yield running


class Prometheus:
    """A private Prometheus on the cluster's configuration."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.port = free_port()
        layout = cluster.cluster.layout
        self.process = ServerProcess("prometheus", layout.pid_file("prometheus"), layout.log_file("prometheus"))
        self._arguments = [
            f"--config.file={layout.prometheus_conf}",
            f"--storage.tsdb.path={layout.folder / 'prometheus'}",
            f"--web.listen-address={LOOPBACK}:{self.port}",
        ]
        self._folder = layout.folder

    def start(self) -> None:
        self.process.spawn([prometheus.find_program("prometheus"), *self._arguments], {}, self._folder)

    def get(self, path: str, **query: str) -> Any:
        url = f"http://{LOOPBACK}:{self.port}/api/v1/{path}?{urlencode(query)}"
        with urlopen(url, timeout=REQUEST_SECONDS) as answer:
            document = json.load(answer)
        assert document["status"] == "success", document
        return document["data"]

    def query(self, expr: str) -> list[Any]:
        """Return the series of an instant query."""
        result: list[Any] = self.get("query", query=expr)["result"]
        return result


@pytest.fixture(scope="module")
def server(cluster: RunningCluster) -> Iterator[Prometheus]:
    server = Prometheus(cluster)
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    try:
        # Two scrapes of each daemon: rates need them.
        truth.until("two scrapes", lambda: _is_scraped(server, len(SIZE.exporters)))
        yield server
    finally:
        server.process.stop(STOP_SECONDS)


def _is_scraped(server: Prometheus, targets: int) -> bool:
    try:
        return len(server.query("count_over_time(up[1m]) > 1 and up == 1")) == targets
    except OSError:
        return False


def test_every_daemon_is_a_target_that_says_what_runs(server: Prometheus) -> None:
    targets = server.get("targets")["activeTargets"]
    assert {target["health"] for target in targets} == {"up"}
    assert {target["labels"]["daemon"] for target in targets} == {f"gantt-{name}" for name in SIZE.exporters}
    assert len(server.query("gantt_build_info == 1")) == len(SIZE.exporters)
    assert len(server.query('process_resident_memory_bytes{process="master"} > 0')) == len(SIZE.exporters)


def test_figures_are_those_of_the_cluster(server: Prometheus, cluster: RunningCluster) -> None:
    def value(expr: str) -> float:
        (series,) = server.query(expr)
        return float(series["value"][1])

    assert value('gantt_replica_hosts{state="schedulable"}') == SIZE.nodes
    assert value('gantt_replica_hosts{state="down"}') == 0
    assert value('sum(gantt_conductor_instances{status="ACTIVE"})') == SERVERS
    assert value("sum(gantt_scheduler_instances_placed_total)") == SERVERS
    assert value('gantt_replica_used{resource_class="VCPU"}') == SERVERS
    hosts = json.loads(booting.gantt(cluster, "host", "list", "-f", "json"))
    vcpus = {host["name"]: host["vcpu_used"] + host["vcpu_free"] for host in hosts}
    assert value('gantt_replica_capacity{resource_class="VCPU"}') == sum(vcpus.values())
    assert value('gantt_replica_aggregate_capacity{aggregate="rack1", resource_class="VCPU"}') == sum(
        amount for name, amount in vcpus.items() if name.startswith("compute0/")
    )


@pytest.mark.parametrize("name", ["epoch", "position", "lag_entries", "silence_seconds"])
def test_each_worker_shows_how_far_it_is_behind(server: Prometheus, name: str) -> None:
    series = server.query(f'gantt_replica_{name}{{daemon="gantt-scheduler"}}')
    assert sorted(item["metric"]["pid"] for item in series) == ["0", "1"]


def test_page_lists_every_metric_that_daemons_export(server: Prometheus) -> None:
    exported = {name for name in server.get("label/__name__/values") if name.startswith("gantt_")}
    assert len(exported) > 60
    assert exported - declared() == set()


@pytest.mark.parametrize(
    ("title", "expr"),
    [
        (item["title"], query["expr"])
        for panels in dashboard.ROWS.values()
        for item in panels
        for query in item["targets"]
    ],
)
def test_queries_of_the_dashboard_have_series(server: Prometheus, title: str, expr: str) -> None:
    series = server.query(expr.replace("$__rate_interval", RATE_INTERVAL))
    assert series or any(name in expr for name in WITHOUT_SERIES), title


@pytest.mark.parametrize("selector", SELECTORS)
def test_alerts_select_what_is_exported(server: Prometheus, selector: str) -> None:
    assert server.query(selector) or selector in WITHOUT_SERIES


def test_rules_are_loaded_and_no_condition_holds(server: Prometheus) -> None:
    (group,) = truth.until("evaluated rules", lambda: _evaluated_groups(server))
    assert {rule["health"] for rule in group["rules"]} == {"ok"}
    # Most fire only after minutes in which they are pending. The first scrape may show what has just begun.
    truth.until("no condition holds", lambda: not _conditions(server))


def test_report_of_a_worker_has_its_partitions_and_no_passwords(cluster: RunningCluster) -> None:
    layout = cluster.cluster.layout
    passwords = re.findall(r"://[^:/]*:([^@]+)@", layout.conf("scheduler").read_text())
    pids = clusters.workers(cluster.cluster.daemons["scheduler"])
    for pid in pids:
        os.kill(pid, signal.SIGUSR2)
    log = layout.log_file("scheduler")
    end = "==== End of the state of worker"
    truth.until("the reports", lambda: log.read_text().count(end) >= SIZE.schedulers)
    text = log.read_text()
    assert re.search(rf"^default: epoch \d+, position \d+, .*hosts: schedulable {SIZE.nodes}, ", text, re.M)
    assert passwords and not any(password in text for password in passwords)


def _conditions(server: Prometheus) -> list[str]:
    """Return the rules whose condition holds."""
    return [
        rule["name"] for group in _evaluated_groups(server) for rule in group["rules"] if rule["state"] != "inactive"
    ]


def _evaluated_groups(server: Prometheus) -> list[Any]:
    never = "0001"  # the year of a rule's evaluation that has not been
    groups = server.get("rules")["groups"]
    return [group for group in groups if not any(rule["lastEvaluation"].startswith(never) for rule in group["rules"])]
