# SPDX-License-Identifier: Apache-2.0
"""Faults of daemons, on processes that stand for their workers."""

import random
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from devstack.lab.chaos import daemon
from devstack.lab.chaos.faults.fault import Fault
from devstack.lab.chaos.faults.processes import FAULTS

KINDS = {kind.name: kind for kind in FAULTS}
AT_PHASE = "killed between two steps"


class Cluster(SimpleNamespace):
    """One daemon of each program; ``worker`` is its only worker."""

    programs: ClassVar = {"scheduler": "scheduler", "conductor-0": "conductor", "compute-0": "compute"}

    def workers(self, _name: str) -> list[int]:
        return [self.worker.pid]

    def control(self, name: str) -> Path:
        return self.folder / name

    def state_folder(self, name: str) -> Path:
        return self.folder / name

    def revive(self) -> None:
        self.revived.append("all")

    @property
    def stores(self) -> Any:
        raise AssertionError("no phase of this test needs an epoch")

    def kill_daemon(self, name: str) -> None:
        self.revived.append(f"killed {name}")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    """A cluster whose worker is a process that sleeps."""
    with subprocess.Popen(["sleep", "600"]) as worker:
        yield Cluster(worker=worker, folder=tmp_path, revived=[])
        worker.kill()


def state(cluster: Any) -> str:
    """Return the worker's state by /proc."""
    return Path(f"/proc/{cluster.worker.pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_suspended_and_resumed(cluster: Any) -> None:
    fault = Fault(KINDS["agent suspended"], cluster, random.Random(1))
    assert fault.inject() == "compute-0"
    while state(cluster) != "T":
        pass
    assert fault.heal()
    while state(cluster) == "T":
        pass


def test_killed_daemon_or_worker_is_revived(cluster: Any) -> None:
    chance = random.Random(1)
    faults = [Fault(KINDS["scheduler killed"], cluster, chance) for _ in range(10)]
    assert {fault.inject() for fault in faults} == {"scheduler", "a worker of scheduler"}
    assert cluster.worker.wait(20) < 0
    assert all(fault.heal() for fault in faults)
    assert cluster.revived[-1] == "all"


def test_phase_that_is_not_reached_did_not_occur(cluster: Any) -> None:
    fault = Fault(KINDS[AT_PHASE], cluster, random.Random(1))
    name = fault.inject().split(" ")[0]
    assert cluster.control(name).with_suffix(".phase").exists()
    assert not fault.heal()
    assert not cluster.control(name).with_suffix(".phase").exists()


def test_phase_that_is_reached(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "met_by", lambda control: cluster.worker.pid)
    fault = Fault(KINDS[AT_PHASE], cluster, random.Random(1))
    fault.inject()
    assert fault.heal()


def test_clock_steps_and_returns(cluster: Any) -> None:
    fault = Fault(KINDS["daemon's clock stepped"], cluster, random.Random(1))
    for name in cluster.programs:
        cluster.control(name).with_suffix(".clock").write_bytes(daemon.NO_OFFSET)
    name = fault.inject().split(" ")[0]
    assert cluster.control(name).with_suffix(".clock").read_bytes() != daemon.NO_OFFSET
    assert fault.heal()
    assert cluster.control(name).with_suffix(".clock").read_bytes() == daemon.NO_OFFSET


def test_files_cannot_grow(cluster: Any) -> None:
    fault = Fault(KINDS["agent's disk full"], cluster, random.Random(1))
    fault.inject()
    assert resource.prlimit(cluster.worker.pid, resource.RLIMIT_FSIZE)[0] == 0
    assert fault.heal()
    assert resource.prlimit(cluster.worker.pid, resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
