# SPDX-License-Identifier: Apache-2.0
"""What a new user does: `stack.sh`, a look around with `gantt`, `unstack.sh`; and what is said when that cannot be."""

import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.cluster import Cluster
from devstack.servers.errors import BinaryMissing
from devstack.servers.install import missing_packages
from devstack.servers.ports import LOOPBACK
from tests.conftest import missing
from tests.functional import truth

PROJECT = Path(__file__).parents[2]
SMALL = ("--computes", "1", "--schedulers", "1", "--servers", "6")


class User:
    """Somebody with a run folder of his own, for whom this test's environment is the one that stack.sh made."""

    def __init__(self, folder: Path) -> None:
        self.run_folder = folder / "run"
        venv = folder / "venv"
        (venv / "bin").mkdir(parents=True)
        python = venv / "bin/python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        packaging = b"".join((PROJECT / name).read_bytes() for name in ("setup.py", "pyproject.toml"))
        (venv / ".gantt-stamp").write_text(hashlib.sha256(packaging).hexdigest())
        taken_from_the_machine = {name: value for name, value in os.environ.items() if not name.startswith("GANTT_")}
        self._environment = {
            **taken_from_the_machine,
            "HOME": str(folder),
            "GANTT_RUN": str(self.run_folder),
            "GANTT_VENV": str(venv),
        }

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(part) for part in command],
            env=self._environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def stack(self, *options: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(PROJECT / "devstack/stack.sh", *options)

    def unstack(self) -> subprocess.CompletedProcess[str]:
        return self.run(PROJECT / "devstack/unstack.sh")

    def gantt(self, *arguments: str) -> Any:
        """Run a command that has to go well; return what it tells as JSON."""
        done = self.run(Path(sys.executable).with_name("gantt"), *arguments, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def processes(self) -> list[int]:
        """Return every process that works on the run folder, whoever started it."""
        return [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if str(self.run_folder) in _command_and_folder(path)
        ]


def _command_and_folder(path: Path) -> str:
    try:
        return f"{path.read_text(errors='replace')} {path.with_name('cwd').readlink()}"
    except OSError:
        return ""  # it has ended, or is nobody's business


@pytest.fixture
def user(run_folder: Path) -> Iterator[User]:
    made = User(run_folder)
    yield made
    made.unstack()
    assert made.processes() == []


def assert_nothing_is_left(user: User) -> None:
    assert not user.run_folder.exists()
    assert user.processes() == []


def walk(user: User, *options: str) -> None:
    """Start, look around, change something, and stop."""
    # Given a machine without a cluster, when the script is called, then all servers run and the cluster stays
    up = user.stack(*SMALL, *options)
    assert up.returncode == 0, up.stdout + up.stderr
    assert "Servers: 6 ACTIVE. Claims: 6 confirmed" in up.stdout
    assert "Verify: clean" in up.stdout
    assert stat.S_IMODE(user.run_folder.stat().st_mode) == 0o700
    began = user.processes()
    assert len(began) >= 5

    # When it is called again, then it says so and changes nothing
    again = user.stack(*SMALL, *options)
    assert (again.returncode, "already up" in again.stdout) == (0, True), again.stderr
    assert user.processes() == began

    # And a call that asks for another size is told what there is instead
    other = user.stack(*SMALL, *options, "--computes", "3")
    assert (other.returncode, "10 nodes on 1 service hosts), not the" in other.stdout) == (0, True), other.stderr
    assert user.processes() == began

    # Then the command shows what is there
    assert user.gantt("claim", "verify")["clean"] is True
    # A conductor that came up before the scheduler is heard of with its next sign of life.
    daemons = {"gantt-compute", "gantt-conductor", "gantt-scheduler"}
    truth.until("all daemons", lambda: {row["binary"] for row in user.gantt("service", "list")} == daemons)
    nodes = user.gantt("host", "list")
    assert len(nodes) == 10
    assert sum(row["vcpu_used"] > 0 for row in nodes) > 0
    booted = user.gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait")
    assert [row["status"] for row in booted] == ["ACTIVE"] * 2
    decision = user.gantt("explain", booted[0]["request_id"])
    assert {row["consumer"] for row in decision["claims"]} == {row["uuid"] for row in booted}

    # And a host that an operator disabled takes nothing, which the decision's record explains
    (host,) = {row["name"].partition("/")[0] for row in nodes}
    user.run(Path(sys.executable).with_name("gantt"), "host", "disable", host, "--reason", "new disk")
    refused = user.run(Path(sys.executable).with_name("gantt"), "boot", "--flavor", "m1.tiny", "--wait", "-f", "json")
    assert refused.returncode == 1
    (row,) = json.loads(refused.stdout)
    assert row["status"] == "ERROR"
    assert user.gantt("explain", row["request_id"])["hosts_refused"] == {"service disabled": 10}

    # And what is deleted gives its claims back
    gone = [row["uuid"] for row in booted]
    deleted = user.run(Path(sys.executable).with_name("gantt"), "server", "delete", *gone, "--wait")
    assert deleted.returncode == 0, deleted.stderr
    assert not {row["consumer"] for row in user.gantt("claim", "list")} & set(gone)

    # And who carried the request out logs its id, and nobody a password
    logs = {path.stem: path.read_text() for path in (user.run_folder / "log").glob("*.log")}
    assert [name for name in ("conductor", "compute") if booted[0]["request_id"] not in logs[name]] == []
    passwords = [path.read_text().strip() for path in user.run_folder.rglob("*.password")]
    assert len(passwords) >= 4
    shown = [*logs.values(), *(_command_and_folder(Path(f"/proc/{pid}/cmdline")) for pid in user.processes())]
    assert not [text for text in shown if any(password in text for password in passwords)]

    # And nobody else may read what any of them wrote
    files = {path: path.lstat().st_mode for path in user.run_folder.rglob("*") if path.is_file()}
    assert len(files) >= 15
    assert not [path for path, mode in files.items() if stat.S_IMODE(mode) & 0o077]

    # When it is stopped, then nothing is left, and stopping twice is fine
    assert user.unstack().returncode == 0
    assert_nothing_is_left(user)
    twice = user.unstack()
    assert (twice.returncode, "nothing to stop" in twice.stdout) == (0, True)


@pytest.mark.timeout(300)
def test_up_around_and_down(user: User) -> None:
    walk(user)


@pytest.fixture
def standard() -> None:
    """Want Debian's servers: a test installs nothing."""
    absent = missing_packages()
    if absent:
        missing(BinaryMissing(f"install {', '.join(absent)}."))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_up_around_and_down_on_debians_servers(user: User, standard: None) -> None:
    walk(user, "--standard")


@pytest.mark.timeout(300)
def test_a_server_that_finds_no_host_is_told_by_the_exit_code(user: User, tmp_path: Path) -> None:
    # Given a trace whose second request no host can take
    trace = tmp_path / "trace.csv"
    trace.write_text("batch,vcpu,mem_gb\n1,1,0.5\n2,50000,1\n")
    up = user.stack(*SMALL, "--trace", trace)
    # Then the cluster is left running, and the script says what is wrong
    assert up.returncode == 1
    assert "1 in ERROR: No valid host" in up.stdout
    assert "Servers: 1 ACTIVE, 1 ERROR" in up.stdout
    # And what a kill left behind is no obstacle for the next call
    cluster = Cluster.find(user.run_folder)
    assert cluster is not None
    assert len(cluster.running) == 5
    for process in (*cluster.daemons.values(), cluster.store, cluster.bus):
        assert process is not None
        process.kill()
    trace.write_text("batch,vcpu,mem_gb\n1,1,0.5\n")
    again = user.stack(*SMALL, "--trace", trace)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Servers: 1 ACTIVE." in again.stdout


def refused(user: User, *options: str | Path) -> str:
    """Call the script in vain; return its one line of complaint."""
    done = user.stack(*options)
    assert done.returncode == 1, done.stdout
    said = [line for line in done.stderr.splitlines() if line.startswith("stack.sh: ")]
    assert len(said) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return said[0]


def test_a_trace_that_is_none_starts_nothing(user: User, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("batch,vcpu,mem_gb\n1,many,1\n")
    assert "line 2: vcpu or mem_gb is not a number" in refused(user, "--trace", trace)
    assert_nothing_is_left(user)


def test_a_run_folder_that_holds_something_else_is_left_alone(user: User) -> None:
    user.run_folder.mkdir()
    (user.run_folder / "thesis").write_text("years of work")
    assert "GANTT_RUN" in refused(user)
    assert (user.run_folder / "thesis").read_text() == "years of work"
    assert user.processes() == []


def test_a_port_in_use_starts_nothing(user: User, standard: None) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        assert str(port) in refused(user, "--standard", "--amqp-port", str(port))
    assert_nothing_is_left(user)


def test_a_size_that_is_none_is_refused(user: User) -> None:
    done = user.stack("--computes", "0")
    assert done.returncode == 2
    assert "'0' is not a whole number between 1 and 100000" in done.stderr
    assert_nothing_is_left(user)
