# SPDX-License-Identifier: Apache-2.0
"""docs/install.md, done: three machines are installed by its commands, and live through what it describes.

The tests build on each other, in their order, as the guide's sections do.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.packaging.caller import Caller
from tests.functional.packaging.deployment import Deployment, running_deployment
from tests.functional.packaging.observation import (
    CLIENT_FILES,
    WITHOUT_TLS,
    active_servers,
    epochs,
    listening_ports,
    secrets,
    serial_number,
)
from tests.functional.systemd.cluster import boot, gantt
from tests.functional.systemd.machine import Machine
from tests.support.clusters.guide import INSTALL

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]

INSTALLATION = (
    *("Prerequisites", "Packages", "Certificates", "Users and passwords", "Redis and Sentinel", "RabbitMQ"),
    *("Controllers", "Start the controllers", "Agents", "Dashboard", "Scripts for rotations"),
)
CONTROLLER_UNITS = ("gantt-conductor.service", "gantt-scheduler@1.service", "gantt-dashboard.service")
SERVICES = {
    *(("gantt-conductor", f"controller{number}") for number in (1, 2)),
    *(("gantt-scheduler", f"controller{number}-1") for number in (1, 2)),
    ("gantt-compute", "compute1"),
}
PARTITION = "default"
RECOVERY_BOOTS = 5  # attempts of an operator while brokers and sentinels notice a loss
FIREWALL_PORTS = INSTALL.ports()["all"]


@pytest.fixture(scope="module")
def deployment(debian: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The booted machines, with the packages of this tree."""
    with running_deployment(INSTALL, debian, tmp_path_factory.mktemp("deployment")) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def controllers(deployment: Deployment) -> tuple[Machine, Machine]:
    """The controllers: the first one has the authority, all passwords, and at the beginning the primary of Redis."""
    return deployment.machines["controller1"], deployment.machines["controller2"]


def states(machine: Machine) -> dict[tuple[str, str], str]:
    """Return the state of each service, by its binary and host."""
    rows = gantt(machine, "service", "list")
    return {(str(row["binary"]), str(row["host"])): str(row["state"]) for row in rows}


def test_machines_are_installed_by_the_guide(deployment: Deployment, controllers: tuple[Machine, Machine]) -> None:
    deployment.follow(*INSTALLATION)

    for machine in controllers:
        assert {machine.property(unit, "ActiveState") for unit in CONTROLLER_UNITS} == {"active"}
    assert deployment.machines["compute1"].property("gantt-compute.service", "ActiveState") == "active"


def test_both_controllers_boot_servers(deployment: Deployment, controllers: tuple[Machine, Machine]) -> None:
    deployment.follow("Check")

    assert len(active_servers(controllers[0])) == 4
    assert states(controllers[1]) == dict.fromkeys(SERVICES, "up")


SEE_HOSTS = """
import http.cookiejar, urllib.request
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
token = open("/root/token").read().strip()
opener.open("http://127.0.0.1:8780/sign-in", data=f"token={token}".encode(), timeout=30)
print(opener.open("http://127.0.0.1:8780/hosts", timeout=30).read().decode())
"""


def test_dashboard_of_each_controller_shows_the_hosts(controllers: tuple[Machine, Machine]) -> None:
    token = controllers[0].run("cat", "/root/gantt/users/dashboard_token").stdout
    for machine in controllers:
        machine.write("/root/token", token)

        page = machine.run("/opt/gantt/bin/python", "-c", SEE_HOSTS).stdout

        machine.run("rm", "/root/token")
        assert "1 hosts, 1 up." in page
        assert "compute1/node0" in page


def test_only_the_listed_ports_are_open(deployment: Deployment) -> None:
    for name, machine in deployment.machines.items():
        assert listening_ports(machine) == FIREWALL_PORTS, name


def test_every_server_proves_its_name_and_requires_a_certificate(
    deployment: Deployment, controllers: tuple[Machine, Machine]
) -> None:
    for host in deployment.machines:
        for port in FIREWALL_PORTS - WITHOUT_TLS:
            assert serial_number(controllers[1], host, port).startswith("serial=")
            connect = f"openssl s_client -connect {host}:{port} -tls1_2 -CAfile /etc/gantt/tls/ca.pem"
            client = "".join(f" -{option} /etc/gantt/tls/{CLIENT_FILES[option]}" for option in ("cert", "key"))
            for certificate, is_accepted in ((client, True), ("", False)):
                answer = controllers[1].run("sh", "-c", f"{connect}{certificate} < /dev/null", check=False)
                assert (answer.returncode == 0) is is_accepted, f"{host}:{port}: {answer.stderr}"


def test_passwords_and_keys_are_readable_by_root_and_their_server_only(deployment: Deployment) -> None:
    first = deployment.machines["controller1"]
    files = "/root/gantt/users/*/*.password /root/gantt/users/stamp_key /root/gantt/users/dashboard_token"
    texts = set(secrets(first, files).values())
    for name, machine in deployment.machines.items():
        machine.write("/root/secrets", "\n".join(sorted(texts)))
        find = (
            "grep -rlFf /root/secrets /etc /var/lib /run /usr/local || true; find /etc -name '*.key'; rm /root/secrets"
        )
        paths = machine.script(find).split()
        assert [path for path in paths if not path.endswith(".key")], f"{name}: no file with a password was found"
        modes = machine.run("stat", "--format=%a %n", *paths).stdout.splitlines()
        assert [line for line in modes if not re.match(r"[4-6][04]0 ", line)] == []
        units = machine.run("systemctl", "list-units", "--no-legend", "--plain", "gantt-*.service").stdout.split()
        for unit in filter(re.compile(r"gantt-.*\.service").fullmatch, units):
            environment = machine.script(f"tr '\\0' '\\n' < /proc/{machine.property(unit, 'MainPID')}/environ")
            assert not texts & set(re.split(r"[=:@\n]", environment))


def test_lost_controller_is_replaced_and_comes_back(
    deployment: Deployment, controllers: tuple[Machine, Machine]
) -> None:
    first, second = controllers
    before, epochs_before = active_servers(second), epochs(second)

    deployment.lose("controller1")
    for attempt in range(RECOVERY_BOOTS):
        try:
            boot(second, 1)
            break
        except (AssertionError, subprocess.TimeoutExpired):
            assert attempt < RECOVERY_BOOTS - 1
    boot(second, 3)

    assert before < active_servers(second)
    assert epochs(second)[PARTITION] > epochs_before[PARTITION]
    second.run("gantt", "claim", "verify")

    deployment.bring_back("controller1")
    deployment.follow("A controller is lost")
    first.start(*CONTROLLER_UNITS)
    with Caller(first) as caller:
        caller.await_boots(3)
    assert caller.failures == []
    first.eventually(lambda: states(first) == dict.fromkeys(SERVICES, "up"), "all services up")


def test_certificates_are_rotated_without_an_outage(
    deployment: Deployment, controllers: tuple[Machine, Machine]
) -> None:
    servers = [(host, port) for host in deployment.machines for port in FIREWALL_PORTS - WITHOUT_TLS]
    before = {server: serial_number(controllers[0], *server) for server in servers}

    with Caller(controllers[1]) as caller:
        deployment.follow("Rotate a certificate")
        caller.await_boots(2)

    assert caller.failures == []
    # Nodes of RabbitMQ look at the files for their own connections every two minutes.
    controllers[0].eventually(
        lambda: all(serial_number(controllers[0], *server) != before[server] for server in servers),
        "another certificate of each server",
    )


def test_passwords_are_rotated_without_an_outage(deployment: Deployment, controllers: tuple[Machine, Machine]) -> None:
    files = "/root/gantt/users/*/{scheduler,conductor,reader,whereabouts,gantt-compute}*.password"
    before = secrets(controllers[0], files)

    with Caller(controllers[1]) as caller:
        deployment.follow("Rotate a password")
        caller.await_boots(2)

    assert caller.failures == []
    after = secrets(controllers[0], files)
    assert after.keys() == before.keys()
    assert [file for file in before if after[file] == before[file]] == []


def test_restored_store_begins_an_epoch_and_knows_what_runs(
    deployment: Deployment, controllers: tuple[Machine, Machine]
) -> None:
    (deleted,) = boot(controllers[1], 1)
    deployment.follow("Back up")
    controllers[1].run("gantt", "server", "delete", deleted, "--wait")
    since = set(boot(controllers[1], 2))
    epochs_before = epochs(controllers[1])

    deployment.follow("Restore")

    assert epochs(controllers[1])[PARTITION] > epochs_before[PARTITION]
    assert since <= active_servers(controllers[1]), "servers that were booted after the backup"
    controllers[1].run("gantt", "server", "delete", deleted, "--wait")
    boot(controllers[1], 1)
    controllers[1].run("gantt", "claim", "verify")
