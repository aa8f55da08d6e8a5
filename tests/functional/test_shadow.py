# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with the scheduler in shadow mode: nothing is claimed or started, decisions can be compared."""

import subprocess
import sys
from pathlib import Path

import pytest

from devstack import exercise
from devstack.workload import WorkloadRequest
from rpcapi.admin import waiting
from tests.support import asking
from tests.support.clusters import clusters

GANTT = Path(sys.executable).with_name("gantt")
SMALL = {"VCPU": 1, "MEMORY_MB": 1024}


class SilentProgress:
    def update(self, number):
        """Ignore the progress."""


@pytest.mark.long
def test_shadow_mode_records_decisions_without_claims(tmp_path):
    with clusters.running_cluster(overrides={"scheduler": {"scheduler": {"mode": "shadow"}}}) as cluster:
        # When servers are booted by mistake
        session = cluster.session
        uuids = exercise.boot(
            session, [WorkloadRequest("small", SMALL, 2), WorkloadRequest("huge", {"VCPU": 10_000}, 1)]
        )
        instances = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, SilentProgress())
        # Then each is in ERROR with a reason, and nothing is claimed
        assert [instances[uuid].status for uuid in uuids] == ["ERROR"] * 3
        assert all("shadow mode" in instances[uuid].reason for uuid in uuids[:2])
        assert list(session.list_all(session.claims.list_claims, "claims")) == []
        # And the decisions can be exported and compared
        path = tmp_path / "decisions.jsonl"
        argv = [GANTT, "--config-file", cluster.cluster.client_conf, "decision", "export", "--output", path]
        subprocess.run(argv, check=True, timeout=60)
        rows = {row["name"]: row["instances"] for row in asking.run_json("shadow", str(path), str(path))}
        assert rows["same host"] == 2
        assert rows["refused by both"] == 1
        assert sum(rows.values()) == 3
