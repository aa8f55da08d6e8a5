# SPDX-License-Identifier: Apache-2.0
"""The checker on a real cluster at rest: each damage to its files and stores is reported as what it is."""

import json
from pathlib import Path

import pytest

from devstack.confs import PARTITION
from devstack.lab.chaos import history
from devstack.lab.chaos.checker import CheckReport
from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.draw import KINDS
from devstack.lab.chaos.progress import Progress
from devstack.lab.chaos.segment import Segment
from devstack.lab.chaos.stored_state import host_folders
from devstack.lab.chaos.violations import ViolationKind
from devstack.servers.errors import BinaryMissing
from tests.support.servers import missing

CLAIMS = f"gantt:{{p:{PARTITION}}}:claims"
INSTANCES = "gantt:{conductor}:instances"


class Damage:
    """Damages five instances, each in another way; ``kinds`` are the violations that must be found of each."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[ViolationKind]] = {}

    def __call__(self, cluster: ChaosCluster, report: CheckReport) -> None:
        assert not report.violations, report.text()
        for name in cluster.daemons:
            cluster.kill_daemon(name)  # nobody repairs it
        folders = [folder for agent in cluster.agents for folder in host_folders(cluster.state_folder(agent))]
        # A guest that was changed may have ended at its former host
        run = history.read(cluster.history_file)
        requests = [operation for operation in run.operations if operation.verb not in ("boot", "list")]
        changed = {uuid for operation in requests for uuid in operation.uuids}
        files = [path for folder in folders for path in (folder / "guests").glob("*.json")]
        paths = {path.stem.partition("@")[0]: path for path in files}
        stopped, copied, unclaimed, forgotten, ended = [uuid for uuid in paths if uuid not in changed][:5]
        # A guest is gone; a guest runs on a second host, too
        paths[stopped].unlink()
        other = next(folder for folder in folders if folder != paths[copied].parents[1])
        (other / "guests").mkdir(exist_ok=True)
        (other / "guests" / paths[copied].name).write_bytes(paths[copied].read_bytes())
        with cluster.store_client(PARTITION) as store, cluster.records.client() as records:
            # A claim is gone, its sums are not; a claim's attempt has ended
            store.hdel(CLAIMS, unclaimed)
            attempt = paths[ended].stem.partition("@")[2]
            store.hset(f"gantt:{{p:{PARTITION}}}:ended", ended, json.dumps({attempt: "released"}))
            # A record is gone
            records.hdel(INSTANCES, forgotten)
        self.kinds = {
            stopped: {ViolationKind.LOST, ViolationKind.STOPPED},
            copied: {ViolationKind.DOUBLY_RUNNING},
            unclaimed: {ViolationKind.UNCLAIMED},
            forgotten: {ViolationKind.LOST},
            ended: {ViolationKind.ILLEGAL},
        }


@pytest.mark.timeout(600)
def test_each_damage_is_found(run_folder: Path) -> None:
    damage = Damage()
    segment = Segment(run_folder, "planted", sorted(KINDS), Progress(seed=1), print)
    try:
        report = segment.run(0, load_target=15, damage=damage)
    except BinaryMissing as why:
        missing(why)
    by_subject = {
        subject: {item.kind for item in report.violations if item.subject == subject} for subject in damage.kinds
    }
    assert by_subject == damage.kinds, report.text()
    # The only other violations are the sums of the claim that is gone
    others = {item.kind for item in report.violations if item.subject not in damage.kinds}
    assert others == {ViolationKind.WRONG_SUMS}, report.text()
