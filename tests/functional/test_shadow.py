# SPDX-License-Identifier: Apache-2.0
"""A whole cluster whose scheduler is in shadow mode: nothing is claimed or run, and its decisions can be compared."""

import subprocess
import sys
from pathlib import Path

import pytest

from devstack import exercise
from devstack.workload import WorkloadRequest
from rpcapi.shell import waiting
from tests.functional import clusters
from tests.unit.devstack.lab import asking

GANTT = Path(sys.executable).with_name("gantt")
SMALL = {"VCPU": 1, "MEMORY_MB": 1024}


class Unseen:
    def update(self, number):
        """Show nothing."""


@pytest.mark.long
def test_what_is_booted_is_decided_recorded_and_not_claimed(tmp_path):
    with clusters.running(overrides={"scheduler": {"scheduler": {"mode": "shadow"}}}) as cluster:
        # When somebody boots servers there by mistake
        session = cluster.session
        uuids = exercise.boot(session, [WorkloadRequest("small", SMALL, 2), WorkloadRequest("huge", {"VCPU": 10_000}, 1)])
        known = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, Unseen())
        # Then none of them runs, each says why, and nothing is claimed
        assert [known[uuid].status for uuid in uuids] == ["ERROR"] * 3
        assert all("shadow mode" in known[uuid].reason for uuid in uuids[:2])
        assert list(session.list_all(session.claims.list_claims, "claims")) == []
        # And what would have been chosen can be taken out, and compared
        path = tmp_path / "decisions.jsonl"
        argv = [GANTT, "--config-file", cluster.cluster.client_conf, "decision", "export", "--output", path]
        subprocess.run(argv, check=True, timeout=60)
        rows = {row["name"]: row["instances"] for row in asking.run_json("shadow", str(path), str(path))}
        assert rows["same host"] == 2
        assert rows["refused by both"] == 1
        assert sum(rows.values()) == 3
