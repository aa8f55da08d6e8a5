# SPDX-License-Identifier: Apache-2.0
"""A new user's steps: `stack.sh`, `gantt` commands, `unstack.sh`; and their error messages."""

import json
import re
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from devstack.cluster import DevstackCluster
from devstack.servers.errors import BinaryMissing
from devstack.servers.install import missing_packages
from devstack.servers.ports import LOOPBACK
from tests.functional.dashboard.visitor import Visitor, is_served
from tests.functional.stack_user import StackUser, _command_and_folder
from tests.support.clusters import truth
from tests.support.placement.client import PlacementClient
from tests.support.servers import missing

SMALL = ("--computes", "1", "--schedulers", "1", "--servers", "6")


@pytest.fixture
def user(run_folder: Path) -> Iterator[StackUser]:
    stack_user = StackUser(run_folder)
    yield stack_user
    stack_user.unstack()
    assert stack_user.processes() == []


def assert_stack_is_removed(user: StackUser) -> None:
    assert not user.run_folder.exists()
    assert user.processes() == []


def placement(output: str, path: str) -> Any:
    """Return the only member of a document of the API at the URL that stack.sh printed."""
    (port,) = re.findall(r"^Placement's API: +http://127\.0\.0\.1:(\d+),", output, re.MULTILINE)
    status, document = PlacementClient(int(port)).call("GET", path)
    assert status == 200, document
    return next(value for name, value in document.items() if name != "resource_provider_generation")


def assert_dashboard_and_metrics_are_served(output: str) -> None:
    """Sign in to the dashboard, and ask each exporter, as stack.sh printed how."""
    ((url, token),) = re.findall(r"^Look at it with: +(http://127\.0\.0\.1:\d+), whose token is (\S+)$", output, re.M)
    visitor = Visitor(url)
    truth.until("the dashboard", lambda: is_served(visitor))
    assert visitor.sign_in(token).heading == "Overview"
    (path,) = re.findall(r"^Watch it with: +prometheus --config.file=(\S+)$", output, re.M)
    (job,) = json.loads(Path(path).read_text())["scrape_configs"]
    addresses = [address for group in job["static_configs"] for address in group["targets"]]
    assert len(addresses) == 5
    for address in addresses:
        with urlopen(f"http://{address}/readyz", timeout=10) as answer:
            assert answer.status == 200


def run_stack_cycle(user: StackUser, *options: str) -> None:
    """Start a cluster, use it, and stop it."""
    # Given a machine without a cluster, when the script is called, then all servers run and the cluster stays
    up = user.stack(*SMALL, *options)
    assert up.returncode == 0, up.stdout + up.stderr
    assert "Servers: 6 ACTIVE. Claims: 6 confirmed" in up.stdout
    assert "Verify: clean" in up.stdout
    assert_dashboard_and_metrics_are_served(up.stdout)
    assert stat.S_IMODE(user.run_folder.stat().st_mode) == 0o700
    began = user.processes()
    assert len(began) >= 5

    # When it is called again, then it reports that and changes nothing
    again = user.stack(*SMALL, *options)
    assert (again.returncode, "already up" in again.stdout) == (0, True), again.stderr
    assert user.processes() == began

    # And a call with another size reports the existing size
    other = user.stack(*SMALL, *options, "--computes", "3")
    assert (other.returncode, "10 nodes on 1 service hosts, Pl" in other.stdout) == (0, True), other.stderr
    assert "not the" in other.stdout
    assert user.processes() == began

    # Then the command shows the cluster
    assert user.gantt("claim", "verify")["clean"] is True
    # A conductor that started before the scheduler is listed after its next heartbeat.
    daemons = {"gantt-compute", "gantt-conductor", "gantt-scheduler"}
    truth.until("all daemons", lambda: {row["binary"] for row in user.gantt("service", "list")} == daemons)
    nodes = user.gantt("host", "list")
    assert len(nodes) == 10
    assert sum(row["vcpu_used"] > 0 for row in nodes) > 0
    booted = user.gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait")
    assert [row["status"] for row in booted] == ["ACTIVE"] * 2
    decision = user.gantt("explain", booted[0]["request_id"])
    assert {row["consumer"] for row in decision["claims"]} == {row["uuid"] for row in booted}

    # And Placement's API shows the nodes as providers, and servers as what they hold
    providers = {provider["name"]: provider["uuid"] for provider in placement(up.stdout, "/resource_providers")}
    assert providers.keys() == {row["name"] for row in nodes}
    holders = {
        consumer
        for provider in providers.values()
        for consumer in placement(up.stdout, f"/resource_providers/{provider}/allocations")
    }
    assert holders == {row["consumer"] for row in user.gantt("claim", "list")}

    # And a disabled host gets no servers, which the decision record explains
    (host,) = {row["name"].partition("/")[0] for row in nodes}
    user.run(Path(sys.executable).with_name("gantt"), "host", "disable", host, "--reason", "new disk")
    refused = user.run(Path(sys.executable).with_name("gantt"), "boot", "--flavor", "m1.tiny", "--wait", "-f", "json")
    assert refused.returncode == 1
    (row,) = json.loads(refused.stdout)
    assert row["status"] == "ERROR"
    assert user.gantt("explain", row["request_id"])["hosts_refused"] == {"service disabled": 10}

    # And deleted servers release their claims
    deleted_uuids = [row["uuid"] for row in booted]
    deleted = user.run(Path(sys.executable).with_name("gantt"), "server", "delete", *deleted_uuids, "--wait")
    assert deleted.returncode == 0, deleted.stderr
    assert not {row["consumer"] for row in user.gantt("claim", "list")} & set(deleted_uuids)

    # And the services log the request id, and no password
    logs = {path.stem: path.read_text() for path in (user.run_folder / "log").glob("*.log")}
    assert [name for name in ("conductor", "compute") if booted[0]["request_id"] not in logs[name]] == []
    passwords = [path.read_text().strip() for path in user.run_folder.rglob("*.password")]
    assert len(passwords) >= 4
    shown = [*logs.values(), *(_command_and_folder(Path(f"/proc/{pid}/cmdline")) for pid in user.processes())]
    assert not [text for text in shown if any(password in text for password in passwords)]

    # And other users cannot read the files
    files = {path: path.lstat().st_mode for path in user.run_folder.rglob("*") if path.is_file()}
    assert len(files) >= 15
    assert not [path for path, mode in files.items() if stat.S_IMODE(mode) & 0o077]

    # When it is stopped, then nothing is left, and a second stop succeeds
    assert user.unstack().returncode == 0
    assert_stack_is_removed(user)
    twice = user.unstack()
    assert (twice.returncode, "nothing to stop" in twice.stdout) == (0, True)


@pytest.mark.timeout(300)
def test_stack_cycle(user: StackUser) -> None:
    run_stack_cycle(user, "--placement", "--dashboard", "--metrics")


@pytest.fixture
def standard() -> None:
    """Require Debian's servers; tests install nothing."""
    absent = missing_packages()
    if absent:
        missing(BinaryMissing(f"install {', '.join(absent)}."))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_stack_cycle_on_debian_servers(user: StackUser, standard: None) -> None:
    run_stack_cycle(user, "--standard", "--placement", "--dashboard", "--metrics")


@pytest.mark.timeout(300)
def test_exit_code_reports_a_server_without_host(user: StackUser, tmp_path: Path) -> None:
    # Given a trace with a second request that fits no host
    trace = tmp_path / "trace.csv"
    trace.write_text("batch,vcpu,mem_gb\n1,1,0.5\n2,50000,1\n")
    up = user.stack(*SMALL, "--trace", trace)
    # Then the cluster keeps running, and the script reports the error
    assert up.returncode == 1
    assert "1 in ERROR: No valid host" in up.stdout
    assert "Servers: 1 ACTIVE, 1 ERROR" in up.stdout
    # And the next call works after a kill
    cluster = DevstackCluster.find(user.run_folder)
    assert cluster is not None
    assert len(cluster.running) == 5
    for process in (*cluster.daemons.values(), cluster.store, cluster.bus):
        assert process is not None
        process.kill()
    trace.write_text("batch,vcpu,mem_gb\n1,1,0.5\n")
    again = user.stack(*SMALL, "--trace", trace)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Servers: 1 ACTIVE." in again.stdout


@pytest.mark.long
def test_unstack_during_stack_ends_both_at_once(user: StackUser) -> None:
    # Given a stack.sh that waits for more servers than it can boot during this test
    starting = user.start_stack("--computes", "1", "--schedulers", "1", "--servers", "20000")
    truth.until("the start", (user.run_folder / "stack.pid").exists)
    # When the cluster is stopped from another terminal
    assert user.unstack().returncode == 0
    # Then the start ends too, without waiting for nodes or servers that cannot come
    _, errors = starting.communicate(timeout=60)
    assert starting.returncode == 130
    assert errors.splitlines()[-1] == "stack.sh: interrupted. The cluster was stopped."
    assert_stack_is_removed(user)


def refused(user: StackUser, *options: str | Path) -> str:
    """Run the script, which must fail; return its one-line error message."""
    done = user.stack(*options)
    assert done.returncode == 1, done.stdout
    messages = [line for line in done.stderr.splitlines() if line.startswith("stack.sh: ")]
    assert len(messages) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return messages[0]


def test_invalid_trace_starts_nothing(user: StackUser, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("batch,vcpu,mem_gb\n1,many,1\n")
    assert "line 2: vcpu or mem_gb is not a number" in refused(user, "--trace", trace)
    assert_stack_is_removed(user)


def test_foreign_run_folder_is_not_touched(user: StackUser) -> None:
    user.run_folder.mkdir()
    (user.run_folder / "thesis").write_text("years of work")
    assert "GANTT_RUN" in refused(user)
    assert (user.run_folder / "thesis").read_text() == "years of work"
    assert user.processes() == []


def test_port_in_use_starts_nothing(user: StackUser, standard: None) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        assert str(port) in refused(user, "--standard", "--amqp-port", str(port))
    assert_stack_is_removed(user)


def test_used_port_of_the_placement_api_starts_nothing(user: StackUser) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        assert str(port) in refused(user, "--placement", str(port))
    assert_stack_is_removed(user)


def test_invalid_size_is_refused(user: StackUser) -> None:
    done = user.stack("--computes", "0")
    assert done.returncode == 2
    assert "'0' is not a whole number between 1 and 100000" in done.stderr
    assert_stack_is_removed(user)
