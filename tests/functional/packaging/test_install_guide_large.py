# SPDX-License-Identifier: Apache-2.0
"""docs/install-large.md, done: six machines are installed by its commands, and one of each kind is lost, one by one.

The tests build on each other, in their order. They print the figures that docs/scale.md has.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.packaging.boot_load import BootLoad, rate
from tests.functional.packaging.deployment import Deployment, running_deployment
from tests.functional.packaging.observation import (
    WITHOUT_TLS,
    active_servers,
    epochs,
    listening_ports,
    secrets,
    serial_number,
    server_statuses,
    services,
)
from tests.functional.systemd.cluster import boot, gantt
from tests.functional.systemd.machine import Machine
from tests.support.clusters.guide import LARGE

pytestmark = [pytest.mark.packages, pytest.mark.long, pytest.mark.timeout(3600)]

CONTROLLERS = ("controller1", "controller2")
CORE = (*CONTROLLERS, "compute1")  # each has a broker and three servers of Redis
VICTIMS = (*CORE, "compute2")  # the last one has nothing but the hosts of a cell
CELLS = tuple(f"cell{number}" for number in (1, 2, 3, 4))
SERVICES = {
    *(("gantt-scheduler", f"{host}-{cell}", cell) for host in CONTROLLERS for cell in CELLS),
    *(("gantt-conductor", f"controller{number}", f"cell{number}") for number in (1, 2)),
    *(("gantt-compute", f"compute{number}", f"cell{number}") for number in (1, 2, 3, 4)),
}
# Queues of requests; replies, fan-outs and dead letters are in classic ones.
REQUESTS = re.compile(r"(scheduler|claims|conductor|compute)(\..*)?")
REDIS_PORTS = (6379, 6380, 6381)
CALLERS = 4
BOOTS = 60  # before a loss, and again while the machine is away
BOOTS_AFTER = 20
BOOTS_ROTATED = 20  # after certificates or passwords were rotated
PASSWORDS = "/root/gantt/users/redis/{scheduler,conductor}.password"
BROKER_PASSWORDS = "/root/gantt/users/rabbitmq/{scheduler,conductor,reader,gantt-compute}.*.password"
UNFINISHED = {"SCHEDULING", "BUILDING"}


@pytest.fixture(scope="module")
def deployment(debian: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The booted machines, with the packages of this tree."""
    with running_deployment(LARGE, debian, tmp_path_factory.mktemp("large")) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def controller(deployment: Deployment) -> Machine:
    """The controller that has the authority and all passwords."""
    return deployment.machines["controller1"]


def placement(controller: Machine) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the slots of each primary, with its own machine and those of its replicas."""
    addresses = {address: name for name, address in LARGE.machines().items()}
    nodes = controller.script("/root/gantt/redis controller1 6379 admin CLUSTER NODES")
    rows = [row.split() for row in nodes.splitlines()]
    machines = {row[0]: addresses[row[1].partition(":")[0]] for row in rows}
    primaries = {row[0]: " ".join(row[8:]) for row in rows if "master" in row[2].split(",")}
    return {
        slots: (machines[primary], frozenset(machines[row[0]] for row in rows if row[3] == primary))
        for primary, slots in primaries.items()
    }


def documented_placement() -> dict[str, tuple[str, frozenset[str]]]:
    """Return what the page's table of primaries says, in the form of ``placement``."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+)(?: to (\d+))? \|", LARGE.sections()["Redis Cluster"], re.MULTILINE)
    return {
        f"{first}-{last}" if last else first: (machine, frozenset(set(CORE) - {machine}))
        for machine, first, last in rows
    }


def test_machines_are_installed_by_the_guide(deployment: Deployment) -> None:
    deployment.follow_steps()

    for name in CONTROLLERS:
        units = ("gantt-conductor", "gantt-dashboard", *(f"gantt-scheduler@{cell}" for cell in CELLS))
        states = {deployment.machines[name].property(f"{unit}.service", "ActiveState") for unit in units}
        assert states == {"active"}, name


def test_both_controllers_boot_servers_in_all_partitions(deployment: Deployment, controller: Machine) -> None:
    deployment.follow("Check")

    assert set(server_statuses(controller).values()) == {"ACTIVE"}
    claims = gantt(controller, "claim", "list")
    assert sorted(str(claim["partition"]) for claim in claims) == sorted([*CELLS, *CELLS])
    assert services(deployment.machines["controller2"]) == SERVICES


def test_requests_are_in_quorum_queues_on_all_brokers(controller: Machine) -> None:
    listing = controller.run(
        *("rabbitmqctl", "list_queues", "--quiet", "--formatter", "json", "-p", "gantt", "name", "type", "members")
    ).stdout
    queues = {queue["name"]: queue for queue in json.loads(listing)}
    requests = {name: queue for name, queue in queues.items() if REQUESTS.fullmatch(name)}

    assert {"scheduler", "conductor", *(f"claims.{cell}" for cell in CELLS), "compute.compute4"} <= requests.keys()
    assert {queue["type"] for queue in requests.values()} == {"quorum"}
    for queue in requests.values():
        assert sorted(queue["members"]) == sorted(f"rabbit@{host}" for host in CORE), queue
    others = {name: queue["type"] for name, queue in queues.items() if name not in requests}
    assert set(others.values()) == {"classic"}
    assert {name.partition(".")[0] for name in others} <= {"reply", "compute_fanout", "dead_letters"}


def test_each_primary_of_redis_has_replicas_on_both_other_machines(controller: Machine) -> None:
    assert placement(controller) == documented_placement()
    for host in CORE:
        for port in REDIS_PORTS:
            info = controller.script(f"/root/gantt/redis {host} {port} admin INFO replication").replace("\r", "")
            expected = "connected_slaves:2" if port == REDIS_PORTS[0] else "master_link_status:up"
            assert expected in info.splitlines(), (host, port)


def test_only_the_listed_ports_are_open(deployment: Deployment) -> None:
    ports = LARGE.ports()
    for name, machine in deployment.machines.items():
        assert listening_ports(machine) == ports["all"] | (ports["the three"] if name in CORE else set()), name


def await_hosts(caller: Machine, machine: str, state: str) -> float:
    """Wait until all hosts of a machine, if it has any, are in a state; return the time."""

    def states() -> set[str]:
        hosts = gantt(caller, "host", "list")
        return {str(host["state"]) for host in hosts if str(host["name"]).startswith(f"{machine}/")}

    caller.eventually(lambda: states() <= {state}, f"hosts of {machine} {state}")
    return time.time()


@pytest.mark.parametrize("victim", VICTIMS)
def test_lost_machine_loses_nothing_acknowledged(
    deployment: Deployment, controller: Machine, victim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    caller = deployment.machines["controller2" if victim == "controller1" else "controller1"]
    with BootLoad(caller, CALLERS) as load:
        before = load.await_active(BOOTS, since=0.0)
        deployment.lose(victim)
        lost_at = time.time()
        first = load.await_active(1, since=lost_at)[0]
        during = load.await_active(BOOTS, since=first.ended)
        down_at = await_hosts(caller, victim, "down")
        load.await_active(BOOTS_AFTER, since=down_at)
        caller.run("gantt", "claim", "verify")

        deployment.bring_back(victim)
        back_at = time.time()
        if victim in CORE:
            deployment.follow("A machine is lost")
        home_at = await_hosts(caller, victim, "up")
        load.await_active(BOOTS_AFTER, since=home_at)

    assert load.failures() == []
    assert load.survivors() == CALLERS, "callers that ran until the end"
    caller.eventually(lambda: not UNFINISHED & set(server_statuses(caller).values()), "the end of all boots")
    statuses = server_statuses(caller)
    acknowledged, boots = load.acknowledged(), load.boots()
    assert acknowledged.keys() <= statuses.keys(), "servers without a record"
    active = {boot.server for boot in boots if boot.status == "ACTIVE"}
    assert {statuses[server] for server in active} == {"ACTIVE"}
    failed = [server for server in gantt(caller, "server", "list") if server["status"] == "ERROR"]
    assert {server["host"] for server in failed} <= {f"{victim}/node0"}, failed
    late = {str(server["uuid"]) for server in failed if acknowledged[str(server["uuid"])] > down_at}
    assert late == set(), "servers that were sent to a host that was down"
    claims = {str(claim["consumer"]): claim["state"] for claim in gantt(caller, "claim", "list")}
    assert claims == {server: "confirmed" for server, status in statuses.items() if status == "ACTIVE"}
    caller.run("gantt", "claim", "verify")
    caller.run("gantt", "audit")
    assert placement(controller) == documented_placement()
    assert services(caller) == SERVICES
    if failed:
        caller.run("gantt", "server", "delete", "--wait", *(str(server["uuid"]) for server in failed))
    with capsys.disabled():
        print(
            f"\n{victim} lost, {CALLERS} callers, {os.cpu_count()} cores for all machines: "
            f"{rate(before):.1f} boots a second before, first boot after {first.ended - lost_at:.0f} s, "
            f"then {rate(during):.1f} a second; {home_at - back_at:.0f} s from its return to the end of the commands; "
            f"{len(acknowledged)} acknowledged, {len(active)} ACTIVE in time, {len(failed)} in ERROR"
        )


def rotate(deployment: Deployment, section: str) -> None:
    """Run the commands of a section while servers boot, each of which must become ACTIVE."""
    caller = deployment.machines["controller2"]
    with BootLoad(caller, CALLERS) as load:
        load.await_active(1, since=0.0)
        deployment.follow(section)
        load.await_active(BOOTS_ROTATED, since=time.time())

    assert load.failures() == []
    assert load.survivors() == CALLERS, "callers that ran until the end"
    caller.eventually(lambda: load.acknowledged().keys() <= active_servers(caller), "all acknowledged servers ACTIVE")
    assert services(caller) == SERVICES


def test_certificates_are_rotated_without_an_outage(deployment: Deployment, controller: Machine) -> None:
    ports = LARGE.ports()["the three"] - WITHOUT_TLS
    servers = [(host, port) for host in CORE for port in ports]
    read_client = "openssl x509 -noout -serial -in /etc/gantt/tls/client.pem"
    before = {server: serial_number(controller, *server) for server in servers}
    clients = {name: machine.script(read_client) for name, machine in deployment.machines.items()}

    rotate(deployment, "Rotate a certificate")

    for name, machine in deployment.machines.items():
        assert machine.script(read_client) != clients[name], name
    # Nodes of RabbitMQ look at the files for their own connections every two minutes.
    controller.eventually(
        lambda: all(serial_number(controller, *server) != before[server] for server in servers),
        "another certificate of each server",
    )


def test_passwords_are_rotated_without_an_outage(deployment: Deployment, controller: Machine) -> None:
    files = f"{PASSWORDS} {BROKER_PASSWORDS}"
    before = secrets(controller, files)

    rotate(deployment, "Rotate a password")

    after = secrets(controller, files)
    assert after.keys() == before.keys()
    assert [file for file in before if after[file] == before[file]] == []
    for user in ("scheduler", "conductor"):
        password = controller.run("cat", f"/root/gantt/users/redis/{user}.password").stdout
        digest = hashlib.sha256(password.encode()).hexdigest()
        for host in CORE:
            for port in REDIS_PORTS:
                rules = controller.script(f"/root/gantt/redis {host} {port} admin ACL LIST | grep '^user {user} '")
                assert re.findall(r"#(\w+)", rules) == [digest], (user, host, port)


def test_restored_stores_begin_epochs_and_know_what_runs(deployment: Deployment) -> None:
    caller = deployment.machines["controller2"]
    (deleted,) = boot(caller, 1)
    deployment.follow("Back up")
    caller.run("gantt", "server", "delete", deleted, "--wait")
    since = set(boot(caller, 2))
    epochs_before = epochs(caller)

    deployment.follow("Restore")

    epochs_after = epochs(caller)
    assert all(epochs_after[cell] > epochs_before[cell] for cell in CELLS), epochs_after
    assert since <= active_servers(caller), "servers that were booted after the backup"
    caller.run("gantt", "server", "delete", deleted, "--wait")
    boot(caller, 1)
    caller.run("gantt", "claim", "verify")
