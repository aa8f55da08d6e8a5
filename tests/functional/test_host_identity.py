# SPDX-License-Identifier: Apache-2.0
"""Real agents that have a host's name, but not its state folder: a namesake, a replacement, a renamed host."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi.resources.names import host_of
from tests.support.clusters import booting, clusters, truth
from tests.support.clusters.clusters import RunningCluster

HOST, RENAMED = "compute0", "compute0.example.org"
HOSTS = {"rpc": {"shared_agent_hosts": f"{HOST},{RENAMED}"}}
# Its agent counts as down, and its claims as orphans, soon after its death.
OVERRIDES = {
    "scheduler": {**HOSTS, "store": {"audit_grace": 1, "service_down_time": 3, "reap_interval": 0.5}},
    "conductor": {**HOSTS, "conductor": {"select_timeout": 3}},
    "compute": {"compute": {"report_interval": 0.5, "retry_interval_max": 0.5}},
}


@pytest.fixture
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(ClusterSize(computes=1, nodes_per_host=1, schedulers=1), OVERRIDES) as running:
        yield running


def service(cluster: RunningCluster, host: str = HOST) -> dict[str, object]:
    session = cluster.session
    return dict(session.call(session.scheduler.get_host_state, "service", host).document)


@contextlib.contextmanager
def namesake(cluster: RunningCluster, folder: Path) -> Iterator[Path]:
    """Run another agent of the same hosts with an empty state folder; yield its log."""
    layout = cluster.cluster.layout
    conf, log_file = folder / "namesake.conf", folder / "namesake.log"
    conf.write_text(layout.conf("compute").read_text().replace(str(layout.state), str(folder)))
    conf.chmod(0o600)
    program = Path(sys.executable).with_name("gantt-compute")
    with log_file.open("wb") as log:
        process = subprocess.Popen([program, "--config-file", conf], stdout=log, stderr=log)
    try:
        yield log_file
    finally:
        process.terminate()
        process.wait(30)


def refusals(log: Path) -> int:
    return log.read_text().count(f"Host {HOST} is not served: update_resource_stats was refused")


def test_namesake_ends_nothing_until_the_host_is_replaced(cluster: RunningCluster, tmp_path: Path) -> None:
    # given a machine with guests that is down
    uuids = [server.uuid for server in booting.boot_many(cluster, 2)]
    truth.assert_consistent(cluster, uuids)
    guests = truth.guests(cluster)
    owner = service(cluster)["host_uuid"]
    cluster.cluster.daemons["compute"].kill_group()
    truth.until("the host is down", lambda: not service(cluster)["alive"])

    # when an agent with its name and an empty folder runs for longer than the grace of an orphan
    with namesake(cluster, tmp_path) as log:
        truth.until("it was refused again and again", lambda: refusals(log) >= 4)
        assert "it has 2 claims" in log.read_text() and f"gantt host replace {HOST}" in log.read_text()
        # then it speaks for nobody, and gets no server
        assert (service(cluster)["host_uuid"], service(cluster)["alive"]) == (owner, False)
        assert set(truth.claims(cluster).values()) == {"confirmed"} and len(truth.claims(cluster)) == 2

    # and the machine returns with all its guests
    clusters.restart(cluster, "compute")
    truth.until("the host is up", lambda: service(cluster)["alive"] and service(cluster)["audited"])
    assert {server.status for server in truth.assert_consistent(cluster, uuids)} == {"ACTIVE"}
    assert truth.guests(cluster) == guests
    assert service(cluster)["host_uuid"] == owner

    # when an operator replaces it, while it is up, with a machine that waits
    with namesake(cluster, tmp_path) as log:
        truth.until("it was refused", lambda: refusals(log))
        cluster.cluster.daemons["compute"].kill_group()
        booting.gantt(cluster, "host", "replace", HOST, "--force", "--yes")
        truth.until("it took over", lambda: service(cluster)["host_uuid"] != owner and service(cluster)["audited"])
        truth.wait_for_status(cluster, uuids, "ERROR")
        # then it gets servers, and the former machine is refused in its turn
        assert host_of(booting.boot(cluster).host) == HOST
        clusters.restart(cluster, "compute")
        log_file = cluster.cluster.layout.log_file("compute")
        truth.until("the former machine is refused", lambda: refusals(log_file))
        assert host_of(booting.boot(cluster).host) == HOST
        assert service(cluster).get("duplicate_ms") is None


def test_renamed_host_takes_no_servers_before_its_former_name_has_none(cluster: RunningCluster) -> None:
    # given a host with a guest, whose agent is started under another name
    first = booting.boot(cluster)
    daemon, layout = cluster.cluster.daemons["compute"], cluster.cluster.layout
    path, log = layout.conf("compute"), layout.log_file("compute")
    former = path.read_text()
    daemon.kill_group()
    path.write_text(re.sub(r"^hosts = .*", f"hosts = {RENAMED}", former, flags=re.M))
    clusters.restart(cluster, "compute")

    # then it is shown as disabled, with what to do, and gets no server
    shown = truth.until("it has registered", lambda: shown_refusal(cluster))
    assert f"start its agent as {HOST}, run 'gantt host drain {HOST}'" in shown
    assert shown in log.read_text()
    truth.until("the former name is down", lambda: not service(cluster)["alive"])
    assert booting.boot(cluster).status == "ERROR"

    # when it runs under its former name again, until the guest has gone
    daemon.kill_group()
    path.write_text(former)
    clusters.restart(cluster, "compute")
    session = cluster.session
    session.call(session.conductor.delete_instances, [first.uuid])
    truth.until("the guest is gone", lambda: not truth.guests(cluster) and not truth.claims(cluster))

    # then it may be renamed
    daemon.kill_group()
    path.write_text(re.sub(r"^hosts = .*", f"hosts = {RENAMED}", former, flags=re.M))
    clusters.restart(cluster, "compute")
    truth.until("it takes servers", lambda: "refusal" not in service(cluster, RENAMED))
    truth.until("it is open", lambda: service(cluster, RENAMED)["audited"])
    truth.until("the former name is down", lambda: not service(cluster)["alive"])
    # The worker may learn a moment later that the former name is down.
    truth.until("it gets a server", lambda: host_of(booting.boot(cluster).host or "") == RENAMED)


def shown_refusal(cluster: RunningCluster) -> str:
    listed = booting.gantt(cluster, "host", "list", "-f", "value", "-c", "name", "-c", "enabled")
    if f"{RENAMED}/node0 False" not in listed and f"{RENAMED} False" not in listed:
        return ""
    return str(service(cluster, RENAMED)["refusal"])
