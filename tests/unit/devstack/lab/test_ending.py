# SPDX-License-Identifier: Apache-2.0
"""A terminated lab leaves no processes and files."""

import os
import signal
import sys
from pathlib import Path

import pytest

from devstack.peer_environments import NOVA_CLOUD, READY
from devstack.servers.process import start_ticks
from tests.unit.devstack.lab import ending
from tests.unit.devstack.lab.peers import fake_peer


# A race is running when there are the measuring process, its server, a worker, and multiprocessing's resource tracker.
@pytest.mark.parametrize(("argv", "processes"), [(["claim"], 2), (["race", "--hosts", "300"], 4)])
def test_termination_ends_servers_and_workers(argv, processes, run_folder):
    with ending.running_lab(run_folder, *argv) as lab:
        ending.poll(
            lambda: any(run_folder.glob("gantt-lab-*/redis.sock")) and len(ending.descendants(lab.pid)) >= processes
        )
        ending.assert_clean_termination(lab, run_folder)


def test_killed_lab_leaves_no_process(run_folder):
    with ending.running_lab(run_folder, "claim") as lab:
        ending.poll(lambda: any(run_folder.glob("gantt-lab-*/redis.sock")))
        processes = ending.descendants(lab.pid)
        lab.kill()
        ending.poll(lambda: not any(start_ticks(pid) for pid in processes), 10)


def test_lab_whose_measurement_is_killed_removes_its_folder(run_folder):
    with ending.running_lab(run_folder, "claim") as lab:
        ending.poll(lambda: any(run_folder.glob("gantt-lab-*/redis.sock")))
        (folder,) = run_folder.glob("gantt-lab-*")
        os.kill(int(folder.name.split("-")[2]), signal.SIGKILL)
        assert lab.wait(60) == 128 + signal.SIGKILL
        assert not folder.exists()


def test_interrupted_lab_says_so_by_its_exit_code(run_folder):
    with ending.running_lab(run_folder, "claim") as lab:
        ending.poll(lambda: any(run_folder.glob("gantt-lab-*/redis.sock")))
        lab.send_signal(signal.SIGINT)
        assert lab.wait(60) == 128 + signal.SIGINT
        assert not any(run_folder.glob("gantt-lab-*"))


def test_terminated_replay_on_redis_leaves_nothing(run_folder):
    argv = ("replay", "--synthetic", "--through", "redis", "--limit", "100000", "--drivers", "filter", "--hosts", "50")
    with ending.running_lab(run_folder, *argv) as lab:
        ending.poll(lambda: any(run_folder.glob("gantt-lab-*/redis.sock")) and bool(ending.descendants(lab.pid)))
        ending.assert_clean_termination(lab, run_folder)


def test_terminated_call_of_a_silent_peer_leaves_nothing(run_folder, monkeypatch):
    # Given an environment whose Python never answers
    monkeypatch.setenv("XDG_CACHE_HOME", str(run_folder / "cache"))
    home = run_folder / "cache" / "gantt-lab" / "peers" / f"{NOVA_CLOUD.name}-{NOVA_CLOUD.version}"
    (home / "bin").mkdir(parents=True)
    (home / READY).write_text("")
    (home / "bin" / "python").write_text(f"#!/bin/sh\nexec {sys.executable} {Path(fake_peer.__file__)} hang\n")
    (home / "bin" / "python").chmod(0o755)
    with ending.running_lab(run_folder, "peers", "--hosts", "40") as lab:
        ending.poll(lambda: any(run_folder.glob("gantt-lab-*/log")) and bool(ending.descendants(lab.pid)))
        ending.assert_clean_termination(lab, run_folder)


@pytest.mark.long
def test_terminated_replay_through_a_cluster_leaves_nothing(run_folder):
    argv = ("replay", "--synthetic", "--through", "cluster", "--limit", "500", "--drivers", "filter")
    with ending.running_lab(run_folder, *argv) as lab:
        ending.poll(lambda: any(run_folder.glob("gantt-lab-*/compute.pid")))
        ending.assert_clean_termination(lab, run_folder)
