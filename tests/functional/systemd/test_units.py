# SPDX-License-Identifier: Apache-2.0
"""Under a booted systemd: the cluster by its units, and the daemon frame by a toy service in a hardened unit.

They are in one file so that one process runs them, on one machine.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.systemd import root
from tests.functional.systemd.cluster import (
    PASSWORD,
    SCHEDULERS,
    SECRETS,
    UNITS,
    boot,
    configure_cluster,
    start_cluster,
)
from tests.functional.systemd.machine import Machine

pytestmark = [pytest.mark.systemd, pytest.mark.timeout(900)]

LIST_PROVIDERS = """
import urllib.request
request = urllib.request.Request("http://127.0.0.1:8778/resource_providers", headers={"x-auth-token": "admin"})
print(urllib.request.urlopen(request).read().decode())
"""


@pytest.fixture(scope="module")
def cluster(machine: Machine) -> Iterator[Machine]:
    """The machine with gantt.target started, by units that were enabled as an operator enables them."""
    configure_cluster(machine, "gantt.conf")
    start_cluster(machine)
    yield machine
    machine.run("systemctl", "stop", "gantt.target")


def test_another_machine_boots_beside_this_one(machine: Machine, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    another = Machine(root.ready_root(), shared)

    try:
        another.boot()
        assert another.run("systemctl", "is-active", "basic.target").stdout == "active\n"
    finally:
        another.halt()

    assert machine.run("systemctl", "is-active", "basic.target").stdout == "active\n"


def test_the_units_start_the_cluster_and_it_boots_servers(cluster: Machine) -> None:
    for unit in UNITS:
        assert cluster.property(unit, "ActiveState") == "active", cluster.journal(unit)
    assert len(cluster.workers(SCHEDULERS)) == 2

    boot(cluster, 3)

    cluster.run("/opt/gantt/bin/gantt", "claim", "verify")


def test_a_killed_scheduler_worker_comes_back_and_serves(cluster: Machine) -> None:
    master, before = cluster.property(SCHEDULERS, "MainPID"), cluster.workers(SCHEDULERS)

    cluster.run("kill", "-KILL", str(min(before)))

    cluster.eventually(
        lambda: (
            len(cluster.workers(SCHEDULERS) - {min(before)}) == 2
            and cluster.property(SCHEDULERS, "StatusText") == "2 of 2 processes serve"
        ),
        "another worker that serves",
    )
    assert cluster.property(SCHEDULERS, "MainPID") == master
    # More requests than workers, so that the new worker gets some.
    for _ in range(4):
        boot(cluster, 1)
    cluster.run("/opt/gantt/bin/gantt", "claim", "verify")


def test_the_placement_unit_shows_the_agents_nodes_as_providers(cluster: Machine) -> None:
    # A list has what was acknowledged before: the agent's report may come later.
    def count() -> int:
        answer = cluster.run("/opt/gantt/bin/python", "-c", LIST_PROVIDERS).stdout
        return len(json.loads(answer)["resource_providers"])

    cluster.eventually(lambda: count() == 4, "four nodes")
    assert len(cluster.workers("gantt-placement.service")) == 2


def test_no_service_can_read_a_file_of_passwords(cluster: Machine) -> None:
    # The daemons have the URLs from nowhere else, and serve.
    for user in SECRETS:
        for name in SECRETS:
            read = cluster.run("runuser", "-u", user, "--", "cat", f"/etc/gantt/{name}.secrets.conf", check=False)
            assert "Permission denied" in read.stderr, (user, name)


def test_service_can_read_its_own_copy_only(cluster: Machine) -> None:
    for user in SECRETS:
        for unit in UNITS:
            copy = f"/run/credentials/{unit}/secrets.conf"
            cluster.run("test", "-f", copy)
            read = cluster.run("runuser", "-u", user, "--", "cat", copy, check=False)
            is_own = unit.startswith(user)
            assert (PASSWORD in read.stdout, read.returncode == 0) == (is_own, is_own), (user, unit)


def test_memory_limits_are_in_force(cluster: Machine) -> None:
    for unit in UNITS:
        assert int(cluster.property(unit, "MemoryMax")) >= 1 << 30, unit


def test_stopping_the_target_drains_every_daemon(cluster: Machine) -> None:
    cluster.run("systemctl", "stop", "gantt.target")

    for unit in UNITS:
        assert cluster.property(unit, "Result") == "success", cluster.journal(unit)
        assert cluster.property(unit, "ExecMainStatus") == "0", cluster.journal(unit)


# The toy service replaces the conductor.
TOY_UNIT = "gantt-conductor.service"
DROP_IN = """
[Service]
Environment=PYTHONPATH=/srv/shared/gantt
ExecStart=
ExecStart=/opt/gantt/bin/python -m tests.unit.rpcapi.daemon.toy --config-file /etc/gantt/gantt-conductor.conf
WatchdogSec=2
TimeoutAbortSec=1
"""


@pytest.fixture
def toy(machine: Machine) -> Iterator[Machine]:
    machine.write(f"/etc/systemd/system/{TOY_UNIT}.d/toy.conf", DROP_IN)
    configure(machine)
    yield machine
    machine.run("systemctl", "stop", TOY_UNIT)
    machine.run("systemctl", "reset-failed", TOY_UNIT, check=False)
    machine.run("rm", "-r", f"/etc/systemd/system/{TOY_UNIT}.d", "/etc/gantt/gantt-conductor.conf")
    machine.run("systemctl", "daemon-reload")


def configure(machine: Machine, *, workers: str = "2", greeting: str = "hello") -> None:
    text = f"[toy]\nfolder = /run/gantt-conductor\nworkers = {workers}\ngreeting = {greeting}\n"
    machine.write("/etc/gantt/gantt-conductor.conf", text)
    machine.run("systemd-tmpfiles", "--create", "gantt.conf")
    machine.run("systemctl", "daemon-reload")


def events(machine: Machine) -> list[str]:
    return machine.run("cat", "/run/gantt-conductor/events").stdout.splitlines()


def test_start_returns_when_the_workers_serve(toy: Machine) -> None:
    toy.start(TOY_UNIT)

    assert len([line for line in events(toy) if line.startswith("start ")]) == 2
    assert toy.property(TOY_UNIT, "ActiveState") == "active"
    assert toy.property(TOY_UNIT, "StatusText") == "2 of 2 processes serve"


def test_daemon_runs_as_its_own_user_with_a_private_file(toy: Machine) -> None:
    toy.start(TOY_UNIT)

    master = toy.property(TOY_UNIT, "MainPID")
    assert toy.run("ps", "-o", "user:32=", "-p", master).stdout.strip() == "gantt-conductor"
    for user, may_read in (("gantt-conductor", True), ("gantt-scheduler", False), ("gantt-compute", False)):
        read = toy.run("runuser", "-u", user, "--", "cat", "/etc/gantt/gantt-conductor.conf", check=False)
        assert (read.returncode == 0) is may_read, user


def test_reload_reaches_every_worker(toy: Machine) -> None:
    toy.start(TOY_UNIT)
    before = toy.workers(TOY_UNIT)
    configure(toy, greeting="bonjour")

    toy.run("systemctl", "reload", TOY_UNIT)

    toy.eventually(lambda: len([x for x in events(toy) if x.startswith("reset")]) == 2, "two resets")
    assert all(line.endswith("bonjour") for line in events(toy) if line.startswith("reset"))
    assert toy.workers(TOY_UNIT) == before
    toy.eventually(lambda: toy.property(TOY_UNIT, "ActiveState") == "active", "the end of the reload")


def test_a_killed_worker_comes_back_under_the_same_master(toy: Machine) -> None:
    toy.start(TOY_UNIT)
    master, before = toy.property(TOY_UNIT, "MainPID"), toy.workers(TOY_UNIT)
    victim = min(before)

    toy.run("kill", "-KILL", str(victim))

    toy.eventually(lambda: victim not in toy.workers(TOY_UNIT) and len(toy.workers(TOY_UNIT)) == 2, "another worker")
    assert toy.property(TOY_UNIT, "MainPID") == master
    assert toy.property(TOY_UNIT, "NRestarts") == "0"


def test_a_hung_master_is_restarted_by_the_watchdog(toy: Machine) -> None:
    toy.start(TOY_UNIT)
    master = toy.property(TOY_UNIT, "MainPID")

    toy.run("kill", "-STOP", master)

    toy.eventually(lambda: toy.property(TOY_UNIT, "NRestarts") == "1", "a restart")
    toy.eventually(lambda: toy.property(TOY_UNIT, "ActiveState") == "active", "the restarted daemon")
    assert toy.property(TOY_UNIT, "MainPID") != master
    assert "Watchdog timeout" in toy.journal(TOY_UNIT)


def test_a_killed_master_is_restarted(toy: Machine) -> None:
    toy.start(TOY_UNIT)

    toy.run("kill", "-KILL", toy.property(TOY_UNIT, "MainPID"))

    toy.eventually(lambda: toy.property(TOY_UNIT, "NRestarts") == "1", "a restart")
    toy.eventually(lambda: toy.property(TOY_UNIT, "ActiveState") == "active", "the restarted daemon")


def test_invalid_configuration_is_not_restarted(toy: Machine) -> None:
    configure(toy, workers="many")

    assert toy.run("systemctl", "start", TOY_UNIT, check=False).returncode != 0

    assert toy.property(TOY_UNIT, "ExecMainStatus") == "78"
    assert toy.property(TOY_UNIT, "ActiveState") == "failed"
    assert toy.property(TOY_UNIT, "NRestarts") == "0"
    assert "gantt-toy: Bad configuration: " in toy.journal(TOY_UNIT)


def test_stop_drains(toy: Machine) -> None:
    toy.start(TOY_UNIT)

    toy.run("systemctl", "stop", TOY_UNIT)

    assert toy.property(TOY_UNIT, "Result") == "success"
    assert toy.property(TOY_UNIT, "ExecMainStatus") == "0"
    assert toy.journal(TOY_UNIT).count("exits with status 0") >= 2
