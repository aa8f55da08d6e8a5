# SPDX-License-Identifier: Apache-2.0
"""The daemon frame under a booted systemd, in a hardened unit: a toy service replaces the conductor."""

from collections.abc import Iterator

import pytest

from tests.functional.systemd.machine import Machine

pytestmark = [pytest.mark.systemd, pytest.mark.timeout(900)]

UNIT = "gantt-conductor.service"
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
    machine.write(f"/etc/systemd/system/{UNIT}.d/toy.conf", DROP_IN)
    configure(machine)
    yield machine
    machine.run("systemctl", "stop", UNIT)
    machine.run("systemctl", "reset-failed", UNIT, check=False)
    machine.run("rm", "-r", f"/etc/systemd/system/{UNIT}.d", "/etc/gantt/gantt-conductor.conf")
    machine.run("systemctl", "daemon-reload")


def configure(machine: Machine, *, workers: str = "2", greeting: str = "hello") -> None:
    text = f"[toy]\nfolder = /run/gantt-conductor\nworkers = {workers}\ngreeting = {greeting}\n"
    machine.write("/etc/gantt/gantt-conductor.conf", text)
    machine.run("systemd-tmpfiles", "--create", "gantt.conf")
    machine.run("systemctl", "daemon-reload")


def events(machine: Machine) -> list[str]:
    return machine.run("cat", "/run/gantt-conductor/events").stdout.splitlines()


def test_start_returns_when_the_workers_serve(toy: Machine) -> None:
    toy.start(UNIT)

    assert len([line for line in events(toy) if line.startswith("start ")]) == 2
    assert toy.property(UNIT, "ActiveState") == "active"
    assert toy.property(UNIT, "StatusText") == "2 of 2 processes serve"


def test_daemon_runs_as_its_own_user_with_a_private_file(toy: Machine) -> None:
    toy.start(UNIT)

    master = toy.property(UNIT, "MainPID")
    assert toy.run("ps", "-o", "user:32=", "-p", master).stdout.strip() == "gantt-conductor"
    for user, may_read in (("gantt-conductor", True), ("gantt-scheduler", False), ("gantt-compute", False)):
        read = toy.run("runuser", "-u", user, "--", "cat", "/etc/gantt/gantt-conductor.conf", check=False)
        assert (read.returncode == 0) is may_read, user


def test_reload_reaches_every_worker(toy: Machine) -> None:
    toy.start(UNIT)
    before = toy.workers(UNIT)
    configure(toy, greeting="bonjour")

    toy.run("systemctl", "reload", UNIT)

    toy.eventually(lambda: len([x for x in events(toy) if x.startswith("reset")]) == 2, "two resets")
    assert all(line.endswith("bonjour") for line in events(toy) if line.startswith("reset"))
    assert toy.workers(UNIT) == before
    toy.eventually(lambda: toy.property(UNIT, "ActiveState") == "active", "the end of the reload")


def test_a_killed_worker_comes_back_under_the_same_master(toy: Machine) -> None:
    toy.start(UNIT)
    master, before = toy.property(UNIT, "MainPID"), toy.workers(UNIT)
    victim = min(before)

    toy.run("kill", "-KILL", str(victim))

    toy.eventually(lambda: victim not in toy.workers(UNIT) and len(toy.workers(UNIT)) == 2, "another worker")
    assert toy.property(UNIT, "MainPID") == master
    assert toy.property(UNIT, "NRestarts") == "0"


def test_a_hung_master_is_restarted_by_the_watchdog(toy: Machine) -> None:
    toy.start(UNIT)
    master = toy.property(UNIT, "MainPID")

    toy.run("kill", "-STOP", master)

    toy.eventually(lambda: toy.property(UNIT, "NRestarts") == "1", "a restart")
    toy.eventually(lambda: toy.property(UNIT, "ActiveState") == "active", "the restarted daemon")
    assert toy.property(UNIT, "MainPID") != master
    assert "Watchdog timeout" in toy.journal(UNIT)


def test_a_killed_master_is_restarted(toy: Machine) -> None:
    toy.start(UNIT)

    toy.run("kill", "-KILL", toy.property(UNIT, "MainPID"))

    toy.eventually(lambda: toy.property(UNIT, "NRestarts") == "1", "a restart")
    toy.eventually(lambda: toy.property(UNIT, "ActiveState") == "active", "the restarted daemon")


def test_invalid_configuration_is_not_restarted(toy: Machine) -> None:
    configure(toy, workers="many")

    assert toy.run("systemctl", "start", UNIT, check=False).returncode != 0

    assert toy.property(UNIT, "ExecMainStatus") == "78"
    assert toy.property(UNIT, "ActiveState") == "failed"
    assert toy.property(UNIT, "NRestarts") == "0"
    assert "gantt-toy: Bad configuration: " in toy.journal(UNIT)


def test_stop_drains(toy: Machine) -> None:
    toy.start(UNIT)

    toy.run("systemctl", "stop", UNIT)

    assert toy.property(UNIT, "Result") == "success"
    assert toy.property(UNIT, "ExecMainStatus") == "0"
    assert toy.journal(UNIT).count("ends with status 0") >= 2
