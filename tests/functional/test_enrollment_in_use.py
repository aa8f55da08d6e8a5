# SPDX-License-Identifier: Apache-2.0
"""Users that the command enrols and revokes at a real broker, before a real scheduler and a real conductor."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import amqp
import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.service import ConductorService
from conductor.store.memory import MemoryConductorStore
from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.access.broker_users import VHOST
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.context import RequestContext
from rpcapi.messaging import bus
from tests.support.clusters import commands
from tests.support.conductor.simulated_cluster import uuid_list
from tests.support.scheduler.workers import FakeTransportWorker, node_report

SECONDS = 60.0
HOST = "h1"
OWN, OTHER = "p1", "p2"
SPEC = objects.RequestSpec.of(resources={"VCPU": 1})


@dataclass
class Deployment:
    """A broker with a management API, a scheduler worker, a conductor, and the command."""

    node: RabbitNode
    folder: Path
    worker: FakeTransportWorker

    def gantt(self, *words: str) -> str:
        """Run the command, and return its output."""
        environment = {**os.environ, "GANTT_BROKER_FILE": str(self.folder / "broker")}
        command = [*commands.gantt(), "--config-file", str(self.folder / "gantt.conf"), *words]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def url(self, user: str, password: str) -> str:
        credentials = ":".join(quote(word, safe="") for word in (user, password))
        return f"gantt-rabbit://{credentials}@{LOOPBACK}:{self.node.ports.amqp}/{VHOST}"

    def connection(self, user: str, password: str) -> amqp.Connection:
        """Return an open connection; raises AccessRefused."""
        connection = amqp.Connection(
            host=f"{LOOPBACK}:{self.node.ports.amqp}",
            userid=user,
            password=password,
            virtual_host=VHOST,
            read_timeout=SECONDS,
        )
        connection.connect()
        return connection


class Caller:
    """The services' clients with one user's transport."""

    def __init__(self, url: str) -> None:
        conf = cfg.ConfigOpts()
        rpc_conf.register_opts(conf)
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        conf.set_override("call_timeout", SECONDS, group="rpc")
        self.transport = bus.get_transport(conf, url)
        self.conductor = ConductorAPI(conf, self.transport)
        self.scheduler = SchedulerAPI(conf, self.transport)
        self.claims = ClaimsAPI(conf, self.transport, "default")


@pytest.fixture
def make_caller() -> Iterator[Callable[[str], Caller]]:
    callers: list[Caller] = []

    def make(url: str) -> Caller:
        callers.append(Caller(url))
        return callers[-1]

    yield make
    for caller in callers:
        caller.transport.cleanup()


@pytest.fixture(scope="module")
def deployment(managed_rabbit: tuple[RabbitNode, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    node, address = managed_rabbit
    folder = tmp_path_factory.mktemp("enrollment")
    (folder / "broker").write_text(f"http://{ADMIN}:{node.passwords.of(ADMIN)}@{address}\n")
    (folder / "gantt.conf").write_text(f"[DEFAULT]\ntransport_url = {node.url('operator')}\n")
    worker = FakeTransportWorker()
    worker.conf.set_override("transport_url", node.url("scheduler"))
    conf = cfg.ConfigOpts()
    rpc_conf.register_opts(conf)
    conductor_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    conf.set_override("transport_url", node.url("conductor"))
    services = [worker.service, ConductorService(conf, MemoryConductorStore())]
    for service in services:
        service.start()
    yield Deployment(node, folder, worker)
    for service in services:
        service.stop()
    for service in services:
        service.wait()


def join(deployment: Deployment, make_caller: Callable[[str], Caller], host: str = HOST) -> str:
    """Enrol a host, and report and audit with its agent's user, which the worker's clients have then; return its
    password.
    """
    password = deployment.gantt("host", "enroll", host).strip()
    agent = make_caller(deployment.url(f"gantt-compute.{host}", password))
    deployment.worker.scheduler, deployment.worker.claims = agent.scheduler, agent.claims
    deployment.worker.join(host, {f"{host}/1": node_report()})
    return password


def select(conductor: Caller, uuid: str, host: str) -> None:
    """Prepare a claim on a host."""
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, force_hosts=[host])
    selections = conductor.scheduler.select_destinations(context.new(OTHER), spec, [uuid], fresh=True)
    assert [selections.names[number] for number in selections.chosen] == [f"{host}/1"]


def explain(caller: Caller, ctxt: RequestContext, request_id: str) -> objects.Decision:
    """Return the decision as soon as it is recorded."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return caller.scheduler.explain(ctxt, request_id)
        except errors.UnknownDecision:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def explain_of(project: str, caller: Caller, request_id: str) -> objects.Decision:
    """Return the project's decision as soon as it is recorded, also beside one of another project."""
    deadline = time.monotonic() + SECONDS
    while (decision := explain(caller, context.new(project), request_id)).document["project"] != project:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return decision


def test_client_of_a_project_acts_for_it_only(deployment: Deployment, make_caller: Callable[[str], Caller]) -> None:
    join(deployment, make_caller)
    user = f"client.horizon@{OWN}"
    password = deployment.gantt("client", "enroll", "horizon", "--project", OWN).strip()
    client = make_caller(deployment.url(user, password))
    operator = make_caller(deployment.node.url("operator"))
    (own, unnamed, other, refused) = uuid_list(4)
    own_ctxt, other_ctxt = context.new(OWN), context.new(OTHER)
    operator.conductor.build_instances(other_ctxt, SPEC, [other])

    client.conductor.build_instances(own_ctxt, SPEC, [own])
    client.conductor.build_instances(context.new(), SPEC, [unnamed])
    page = client.conductor.list_instances(context.new())
    assert {instance.uuid: instance.project_id for instance in page.instances} == {own: OWN, unnamed: OWN}
    assert client.conductor.get_instances(own_ctxt, [own]).instances[0].uuid == own
    assert client.conductor.get_quota(own_ctxt, OWN).used[0] == 2
    assert client.scheduler.dry_run(own_ctxt, SPEC).document["project"] == OWN
    assert explain(client, own_ctxt, own_ctxt.request_id).document["project"] == OWN
    assert explain(operator, own_ctxt, other_ctxt.request_id).document["project"] == OTHER

    near_other = objects.RequestSpec.of(resources={"VCPU": 1}, hints={"same_host": [other]})
    near_own = objects.RequestSpec.of(resources={"VCPU": 1}, hints={"different_host": own})
    explain(operator, own_ctxt, other_ctxt.request_id)  # it has been placed
    assert client.scheduler.dry_run(own_ctxt, near_own).document["project"] == OWN
    attacks: list[Callable[[], Any]] = [
        lambda: client.conductor.build_instances(other_ctxt, SPEC, [refused]),
        lambda: client.conductor.build_instances(own_ctxt, near_other, [refused]),
        lambda: client.scheduler.dry_run(own_ctxt, near_other),
        lambda: client.conductor.list_instances(other_ctxt),
        lambda: client.conductor.delete_instances(own_ctxt, [other]),
        lambda: client.conductor.delete_instances(other_ctxt, [other]),
        lambda: client.conductor.delete_instances(own_ctxt, [own, other]),
        lambda: client.conductor.get_instances(own_ctxt, [other]),
        lambda: client.conductor.get_quota(own_ctxt, OTHER),
        lambda: client.scheduler.dry_run(other_ctxt, SPEC),
        lambda: client.scheduler.explain(own_ctxt, other_ctxt.request_id),
        lambda: client.scheduler.list_partitions(own_ctxt),
    ]
    for attack in attacks:
        with pytest.raises(errors.CallerRefused):
            attack()
    instances = operator.conductor.list_instances(context.new()).instances
    assert {instance.uuid for instance in instances} == {own, unnamed, other}
    assert not {instance.status for instance in instances} & {"DELETING", "DELETED"}

    same_id = other_ctxt.request_id
    client.conductor.build_instances(context.new(OWN, request_id=same_id), SPEC, [refused])
    assert explain_of(OWN, operator, same_id).document["verdicts"][0]["consumer"] == refused
    assert explain_of(OTHER, operator, same_id).document["verdicts"][0]["consumer"] == other
    assert explain(client, own_ctxt, same_id).document["project"] == OWN

    client.conductor.delete_instances(own_ctxt, [own, unnamed, refused])
    deployment.gantt("client", "revoke", "horizon", "--project", OWN)
    with pytest.raises(amqp.AccessRefused):
        deployment.connection(user, password)


def test_revoked_host_is_disconnected_and_fenced(deployment: Deployment, make_caller: Callable[[str], Caller]) -> None:
    password = join(deployment, make_caller)
    conductor, operator = (make_caller(deployment.node.url(user)) for user in ("conductor", "operator"))
    (uuid, refused) = uuid_list(6)[4:]
    select(conductor, uuid, HOST)
    refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[1])
    deployment.worker.claims.confirm_claims(context.new(), HOST, refs)
    connection = deployment.connection(f"gantt-compute.{HOST}", password)

    deployment.gantt("host", "revoke", HOST, "--yes")

    # Its connection ends although it sends nothing, and it cannot come back.
    with pytest.raises((amqp.AMQPError, OSError)) as ended:
        while True:
            connection.drain_events(timeout=SECONDS)
    assert not isinstance(ended.value, TimeoutError)
    with pytest.raises(amqp.AccessRefused):
        deployment.connection(f"gantt-compute.{HOST}", password)
    # The host is fenced: its confirmed claim has ended, and nothing is placed on it.
    assert operator.claims.list_claims(context.new(), host=HOST).claims == []
    with pytest.raises(errors.NoValidHost):
        select(conductor, refused, HOST)
    deployment.gantt("host", "revoke", HOST, "--yes")


def test_captured_agent_takes_nothing_of_another_host(
    deployment: Deployment, make_caller: Callable[[str], Caller]
) -> None:
    victim, captured = "h2", "h20"
    conductor, operator = (make_caller(deployment.node.url(user)) for user in ("conductor", "operator"))
    (uuid, invented, later) = uuid_list(9)[6:]
    refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[1])
    join(deployment, make_caller, victim)
    select(conductor, uuid, victim)
    deployment.worker.claims.confirm_claims(context.new(), victim, refs)
    join(deployment, make_caller, captured)
    agent, epoch = deployment.worker, deployment.worker.store.state.epoch

    # It calls for the other host
    attacks: list[Callable[[], Any]] = [
        lambda: agent.claims.confirm_claims(context.new(), victim, refs),
        lambda: agent.claims.release_claims(context.new(), victim, refs),
        lambda: agent.audit(victim, epoch),
        lambda: agent.report(victim, {f"{victim}/1": node_report()}),
    ]
    for attack in attacks:
        with pytest.raises(errors.CallerRefused):
            attack()
    # It reports nodes of the other host as its own
    with pytest.raises(errors.GanttError, match=f"{victim}/1"):
        agent.report(captured, {f"{victim}/1": node_report()}, sequence=2)
    # It audits a later attempt of the other host's instance, and a claim that holds from the other host's node
    owner = {"type": "INSTANCE", "project": OTHER, "user": "", "request_id": "r"}
    answer = agent.audit(
        captured,
        epoch,
        consumers=[uuid, invented],
        attempts=[2, 1],
        states=["confirmed"] * 2,
        names=[f"{captured}/1"] * 2,
        allocations=[{f"{captured}/1": {"VCPU": 1}}, {f"{victim}/1": {"VCPU": 1_000_000}}],
        owners=[owner] * 2,
    )
    assert answer.answers == ["unverified", "unverified"]
    (victim_claim,) = operator.claims.list_claims(context.new(), host=victim).claims
    assert (victim_claim["consumer"], victim_claim["attempt"], victim_claim["state"]) == (uuid, 1, "confirmed")
    assert not operator.claims.verify(context.new()).excess
    select(conductor, later, victim)
