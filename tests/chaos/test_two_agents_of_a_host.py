# SPDX-License-Identifier: Apache-2.0
"""A second gantt-compute runs for the same hosts with a copy of their state folder, as on a copied machine."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import exercise, workload
from rpcapi import objects
from rpcapi.admin.state_write import update_document
from tests.support.clusters import truth
from tests.support.clusters.clusters import RunningCluster

TINY = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def duplicates(cluster: RunningCluster) -> set[str]:
    """Return the service hosts that are shown as a duplicate identity."""
    session = cluster.session
    states = session.list_all(session.scheduler.list_host_state, "states", "service")
    return {state.name for state in states if state.document.get("duplicate_ms") is not None}


@pytest.fixture
def second_agent(cluster: RunningCluster, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    layout = cluster.cluster.layout
    shutil.copytree(layout.state / "compute", tmp_path / "compute")
    conf = tmp_path / "second.conf"
    conf.write_text(layout.conf("compute").read_text().replace(str(layout.state), str(tmp_path)))
    conf.chmod(0o600)
    program = Path(sys.executable).with_name("gantt-compute")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([program, "--config-file", conf], stdout=log, stderr=log)
    yield process
    process.terminate()
    process.wait(30)


def test_hosts_take_no_claims_until_an_operator_enables_them(cluster, second_agent):
    # given two agents that register in turn
    hosts = {"compute0", "compute1"}
    truth.until("both hosts are duplicates", lambda: duplicates(cluster) == hosts)
    # then no server is placed
    (refused,) = truth.wait_for_final_status(
        cluster, exercise.boot(cluster.session, [workload.WorkloadRequest("tiny", TINY, 1)])
    )
    assert refused.status == "ERROR"

    # when one of them ends, and an operator enables the hosts
    second_agent.terminate()
    second_agent.wait(30)
    for host in hosts:
        update_document(cluster.session, "service", host, {"enabled": True, "duplicate_ms": None})

    # then they take servers again, and stay so
    assert duplicates(cluster) == set()
    spec = objects.RequestSpec.of(resources=TINY)
    session = cluster.session
    truth.until("the worker knows", lambda: session.call(session.scheduler.dry_run, spec).document.get("best"))
    booted = exercise.boot(cluster.session, [workload.WorkloadRequest("tiny", TINY, 2)])
    instances = truth.assert_consistent(cluster, booted)
    assert {instance.status for instance in instances} == {"ACTIVE"}
    assert duplicates(cluster) == set()
