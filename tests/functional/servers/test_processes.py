# SPDX-License-Identifier: Apache-2.0
"""Ownership of server processes, and clean-up after a killed run."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devstack.servers.process import ServerProcess, start_ticks
from tests.support import run_folders
from tests.support.clusters.waiting import DEADLINE, wait_until

REPOSITORY = Path(__file__).parents[3]


def test_reused_pid_is_not_killed(run_folder):
    pid_file = run_folder / "stranger.pid"
    with subprocess.Popen(["sleep", "600"]) as stranger:
        started = start_ticks(stranger.pid)
        assert started is not None
        recorded = {"pid": stranger.pid, "start_ticks": started - 1}
        pid_file.write_text(json.dumps(recorded))

        ServerProcess("server", pid_file, run_folder / "log").stop(seconds=1)

        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("text", ["1", "[]", "{}", "", "no number"])
def test_foreign_pid_file_is_ignored(run_folder, text):
    pid_file = run_folder / "foreign.pid"
    pid_file.write_text(text)

    assert ServerProcess("server", pid_file, run_folder / "log").pid is None


def test_process_that_ignores_sigterm_is_killed(run_folder):
    process = ServerProcess("deaf", run_folder / "deaf.pid", run_folder / "deaf.log")
    process.spawn(["sh", "-c", "trap '' TERM; echo ready; sleep 600 & wait; wait"], os.environ, run_folder)
    process.wait_ready(lambda: "ready" in process.log.read_text(), DEADLINE)

    process.stop(seconds=0.1)

    assert process.pid is None


def test_next_run_ends_servers_of_a_killed_run(monkeypatch, run_folder):
    monkeypatch.setattr(run_folders, "BASE", run_folder)
    program = (
        "import sys, time, pathlib\n"
        "from tests.support import run_folders\n"
        "from devstack.servers import lifetime\n"
        "from devstack.servers.redis import RedisServer\n"
        "run_folders.BASE = pathlib.Path(sys.argv[1])\n"
        "server = RedisServer(run_folders.claim_folder())\n"
        "server.start()\n"
        "lifetime.release()\n"  # as if its watch had been killed too
        "print(server.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(run_folder)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as killed:
        assert killed.stdout is not None
        server = int(killed.stdout.readline())
        run_folders.sweep()
        assert start_ticks(server), "a run that is still alive lost its server"
        killed.send_signal(signal.SIGKILL)

    run_folders.sweep()

    wait_until(lambda: start_ticks(server) is None, "the end of the orphaned server")
    assert not list(run_folder.iterdir())
