# SPDX-License-Identifier: Apache-2.0
"""Sweep of run folders: ends servers and workers left by a killed test run, and ignores files of other users."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devstack.deploy.users.errors import FolderUnusable
from devstack.servers.errors import BinaryMissing
from devstack.servers.process import ServerProcess, members, start_ticks
from devstack.servers.rabbitmq_binary import rabbit_programs
from tests.support import run_folders
from tests.support.servers import missing

REPOSITORY = Path(__file__).resolve().parents[2]
DEADLINE = 30.0
BOOTS_RABBIT = (
    "import pathlib, sys\n"
    "from devstack.servers.rabbitmq import RabbitNode\n"
    "from tests.support import run_folders\n"
    "run_folders.BASE = pathlib.Path(sys.argv[1])\n"
    "node = RabbitNode(run_folders.claim_folder() / 'run' / 'rabbitmq')\n"
    "node._accepts_login = lambda: print('boots', flush=True)\n"
    "node.start()\n"
)


@pytest.fixture
def base(monkeypatch, run_folder: Path) -> Iterator[Path]:
    monkeypatch.setattr(run_folders, "BASE", run_folder)
    yield run_folder
    run_folder.chmod(0o700)
    run_folders.sweep()


def wait_until(done: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not done():
        assert time.monotonic() < deadline, f"no {what} within {DEADLINE:g} s"
        time.sleep(0.01)


def recorded_pid(pid_file: Path) -> int:
    return int(json.loads(pid_file.read_text())["pid"])


def test_node_and_port_mapper_end_with_their_killed_owner(base: Path) -> None:
    try:
        rabbit_programs()
    except BinaryMissing as why:
        missing(why)
    command = [sys.executable, "-c", BOOTS_RABBIT, str(base)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None and owner.stdout.readline()
        node, epmd = (recorded_pid(next(base.rglob(f"{name}.pid"))) for name in ("rabbitmq", "epmd"))
        wait_until(
            lambda: Path(f"/proc/{node}/comm").read_text().startswith("beam"), "Erlang node in place of its script"
        )
        owner.kill()

    wait_until(lambda: not members(node) and not members(epmd), "end of the node and its port mapper")
    run_folders.sweep()

    assert not list(base.iterdir())


@pytest.mark.parametrize("owner", [f"{os.getpid()}-1", "no-number"], ids=["a pid taken anew", "no pid"])
def test_workers_end_with_their_daemon(base: Path, owner: str) -> None:
    folder = base / owner / "run"
    folder.mkdir(parents=True)
    daemon = ServerProcess("daemon", folder / "daemon.pid", folder / "daemon.log")
    daemon.spawn(["sh", "-c", "trap '' TERM; sleep 600 & echo $! ready; wait"], os.environ, folder)
    wait_until(lambda: "ready" in daemon.log.read_text(), "worker")
    worker = int(daemon.log.read_text().split()[0])

    run_folders.sweep()

    assert daemon.pid is None
    wait_until(lambda: start_ticks(worker) is None, "end of the worker")
    assert not list(base.iterdir())


def test_sweep_refuses_a_folder_writable_by_others(base: Path) -> None:
    folder = base / f"{os.getpid()}-1"
    folder.mkdir()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as victim:
        record = {"pid": victim.pid, "start_ticks": start_ticks(victim.pid)}
        (folder / "server.pid").write_text(json.dumps(record))
        base.chmod(0o777)

        with pytest.raises(FolderUnusable, match="mode 777"):
            run_folders.sweep()

        assert victim.poll() is None
        victim.kill()
