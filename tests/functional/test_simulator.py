# SPDX-License-Identifier: Apache-2.0
"""The simulator at full size, and agents that restart under load. The short forms are the agent's unit tests."""

import re
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize, Mode
from devstack.servers.ports import free_port
from devstack.servers.process import ServerProcess
from rpcapi.resources.names import host_of
from tests.support.clusters import clusters, truth
from tests.support.clusters.fill import generate_requests

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

LARGE = ClusterSize(computes=200, nodes_per_host=50, schedulers=1, report_interval=8.0, churn=0.1)
MAX_BYTES = 2 * 1024**3
MAX_PROCESSES = 4
RESTARTING = {"compute": {"compute": {"report_interval": 1.0}, "simulator": {"restart_rate": 0.3}}}


def applied_reports(listen: str) -> dict[str, int]:
    """Return the number of applied reports by kind, from the agents' metrics."""
    with urllib.request.urlopen(f"http://{listen}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    matches = re.findall(
        r'^gantt_compute_stats_reports_total\{kind="(\w+)",result="applied"\} (\S+)', text, re.MULTILINE
    )
    return {kind: int(float(count)) for kind, count in matches}


def peak_bytes(pid: int) -> int:
    """Return the peak resident size of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def processes(daemon: ServerProcess) -> list[int]:
    """Return a daemon's master and all its children."""
    assert daemon.pid is not None, f"{daemon.name} does not run"
    return [daemon.pid, *clusters.workers(daemon)]


@pytest.mark.parametrize("mode", list(Mode))
def test_ten_thousand_nodes_in_two_gibibytes(mode: Mode) -> None:
    # given 200 service hosts of 50 nodes, with a tenth of the nodes changing per report
    listen = f"127.0.0.1:{free_port()}"
    shape = replace(LARGE, mode=mode)
    with clusters.running_cluster(shape, {"compute": {"metrics": {"listen": listen}}}) as running:
        # when each has sent a full report and two more
        truth.until(
            "two more rounds of reports", lambda: sum(applied_reports(listen).values()) >= 3 * shape.computes, 120
        )

        # then every host is alive, and its nodes exist
        session = running.session
        services = list(session.list_all(session.scheduler.list_host_state, "states", "service"))
        alive = {state.name for state in services if state.document["alive"] and state.document["audited"]}
        nodes = [state.name for state in session.list_all(session.scheduler.list_host_state, "states", "compute")]
        assert len(nodes) == len(set(nodes)) == shape.nodes
        assert {host_of(name) for name in nodes} <= alive

        # and later reports have only changes; nearly all of them have some
        reports = applied_reports(listen)
        assert reports["full"] == shape.computes
        assert reports["delta"] > 1.5 * shape.computes

        # within the limits of peak memory and number of processes
        pids = processes(running.cluster.daemons["compute"])
        assert len(pids) <= MAX_PROCESSES
        assert sum(map(peak_bytes, pids)) <= MAX_BYTES


@pytest.mark.parametrize("mode", list(Mode))
def test_servers_boot_on_agents_that_keep_restarting(mode: Mode) -> None:
    with clusters.running_cluster(
        clusters.with_mode(mode, ClusterSize(computes=5, nodes_per_host=4)), RESTARTING
    ) as running:
        log = running.cluster.layout.log_file("compute")

        def restarts() -> int:
            return log.read_text().count("Restarting the agent")

        uuids = exercise.boot(running.session, generate_requests(20, seed=3))
        truth.until("agents restart under their guests", lambda: restarts() >= 5, 120)
        truth.assert_consistent(running, uuids, 120)
        assert "Traceback" not in log.read_text()
