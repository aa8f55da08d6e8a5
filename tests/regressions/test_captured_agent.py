# SPDX-License-Identifier: Apache-2.0
"""What the password of one host's agent allows on RabbitMQ: calls for this host, and no others.

With it, at 54c14e9, all calls of this page were served.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import amqp
import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.access.broker_users import VHOST
from rpcapi.access.callers import CALLERS
from rpcapi.access.senders import agent_user
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer

HOST, OTHER = "h1", "h10"
AGENT = agent_user(HOST)
PARTITION = "captured"
SERVED = (
    ("scheduler", "scheduler", SchedulerAPI.VERSION),
    ("scheduler", f"claims.{PARTITION}", ClaimsAPI.VERSION),
    ("conductor", "conductor", ConductorAPI.VERSION),
)
UUID = "00000000-0000-0000-0000-000000000001"
REFS = objects.ClaimRefs.of(consumers=[UUID], attempts=[2])


class Recorder:
    """An endpoint with all methods of a service, which records who called."""

    def __init__(self, service: str, version: str) -> None:
        self.target = oslo_messaging.Target(version=version)
        self.calls: list[tuple[str, str | None]] = []
        for method in CALLERS[service]:
            setattr(self, method, self._record(method))

    def _record(self, method: str) -> Any:
        def record(ctxt: context.RequestContext, **values: Any) -> None:
            self.calls.append((method, ctxt.sender))

        record.exposed = True  # type: ignore[attr-defined]
        return record


def transport_of(node: RabbitNode, user: str) -> Any:
    conf = cfg.ConfigOpts()
    rpc_conf.register_opts(conf)
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    return bus.get_transport(conf, node.url(user))


@pytest.fixture(scope="module")
def recorders(rabbit_node: RabbitNode) -> Iterator[dict[str, Recorder]]:
    """The services' topics, each served by its own user."""
    endpoints, servers, transports = {}, [], []
    for user, topic, version in SERVED:
        service = topic.partition(".")[0]
        endpoints[service] = Recorder(service, version)
        transports.append(transport_of(rabbit_node, user))
        target = oslo_messaging.Target(topic=topic, server="captured")
        servers.append(bus.get_server(transports[-1], target, [endpoints[service]], GanttSerializer(), "threading"))
        servers[-1].start()
    yield endpoints
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(lambda server: (server.stop(), server.wait()), servers))
    for transport in transports:
        transport.cleanup()


@pytest.fixture(scope="module")
def agent(rabbit_node: RabbitNode) -> Iterator[Any]:
    """A bus connection with the captured password."""
    transport = transport_of(rabbit_node, AGENT)
    yield transport
    transport.cleanup()


def stats(**values: Any) -> objects.StatsReport:
    return objects.StatsReport.of(
        incarnation=1, sequence=1, base=0, full=True, nodes={}, register=False, partition=PARTITION, **values
    )


def audit(host: str) -> objects.AuditReport:
    return objects.AuditReport.of(
        host=host, epoch=1, consumers=[], attempts=[], states=[], names=[], allocations=[], owners=[]
    )


def builds(host: str) -> objects.BuildReport:
    return objects.BuildReport.of(host=host, uuids=[UUID], attempts=[1], outcomes=["failed"], reasons=[""])


def disabled(host: str) -> objects.HostState:
    return objects.HostState.of(
        namespace="service", name=host, version=1, document={"disabled": True}, partition=PARTITION
    )


SPEC = objects.RequestSpec.of(resources={"VCPU": 1})
AGGREGATE = {"id": "a", "hosts": [HOST], "metadata": {}}
ATTACKS = {
    "release another host's guest": ("claims", lambda api, ctxt: api.release_claims(ctxt, OTHER, REFS)),
    "confirm for another host": ("claims", lambda api, ctxt: api.confirm_claims(ctxt, OTHER, REFS)),
    "abort for all hosts": ("claims", lambda api, ctxt: api.abort_claims(ctxt, REFS)),
    "abort for another host": ("claims", lambda api, ctxt: api.abort_claims(ctxt, REFS, OTHER)),
    "name another destination": ("claims", lambda api, ctxt: api.abort_claims(ctxt, REFS, HOST, [OTHER])),
    "audit attempt+1 on another host": ("claims", lambda api, ctxt: api.audit_host(ctxt, audit(OTHER))),
    "fence": ("claims", lambda api, ctxt: api.fence_host(ctxt, OTHER, "token", force=True)),
    "vouch for its own claim": ("claims", lambda api, ctxt: api.vouch_for_claims(ctxt, HOST, REFS)),
    "read claims": ("claims", lambda api, ctxt: api.list_claims(ctxt)),
    "register another host": ("scheduler", lambda api, ctxt: api.update_resource_stats(ctxt, OTHER, stats())),
    "select": ("scheduler", lambda api, ctxt: api.select_destinations(ctxt, SPEC, [UUID])),
    "disable a host": ("scheduler", lambda api, ctxt: api.update_host_state(ctxt, disabled(OTHER), "operator")),
    "remove a host": ("scheduler", lambda api, ctxt: api.remove_host(ctxt, OTHER)),
    "write an aggregate": ("scheduler", lambda api, ctxt: api.update_aggregates(ctxt, [AGGREGATE])),
    "forge a build report": ("conductor", lambda api, ctxt: api.report_builds(ctxt, builds(OTHER))),
    "delete instances": ("conductor", lambda api, ctxt: api.delete_instances(ctxt, [UUID])),
    "build instances": ("conductor", lambda api, ctxt: api.build_instances(ctxt, SPEC, [UUID])),
    "have all hosts audit": ("conductor", lambda api, ctxt: api.audit_hosts(ctxt, PARTITION, 9)),
}
ALLOWED = {
    "release": ("claims", lambda api, ctxt: api.release_claims(ctxt, HOST, REFS)),
    "abort": ("claims", lambda api, ctxt: api.abort_claims(ctxt, REFS, HOST)),
    "audit": ("claims", lambda api, ctxt: api.audit_host(ctxt, audit(HOST))),
    "stats": ("scheduler", lambda api, ctxt: api.update_resource_stats(ctxt, HOST, stats())),
    "builds": ("conductor", lambda api, ctxt: api.report_builds(ctxt, builds(HOST))),
}


def api_of(service: str, transport: Any) -> Any:
    if service == "claims":
        return ClaimsAPI(transport.conf, transport, PARTITION)
    return {"scheduler": SchedulerAPI, "conductor": ConductorAPI}[service](transport.conf, transport)


@pytest.mark.parametrize("name", ATTACKS)
def test_captured_password_does_not_speak_for_others(recorders: dict[str, Recorder], agent: Any, name: str) -> None:
    service, attack = ATTACKS[name]
    calls = list(recorders[service].calls)
    with pytest.raises(errors.CallerRefused, match=r"gantt-compute\.h1'"):
        attack(api_of(service, agent), context.new())
    assert recorders[service].calls == calls


@pytest.mark.parametrize("name", ALLOWED)
def test_agent_speaks_for_its_own_host(recorders: dict[str, Recorder], agent: Any, name: str) -> None:
    service, call = ALLOWED[name]
    call(api_of(service, agent), context.new())
    assert recorders[service].calls[-1][1] == AGENT


@pytest.fixture
def channel(rabbit_node: RabbitNode) -> Iterator[amqp.Channel]:
    """A bare channel with the captured password."""
    with amqp.Connection(
        host=f"{LOOPBACK}:{rabbit_node.ports.amqp}",
        userid=AGENT,
        password=rabbit_node.passwords.of(AGENT),
        virtual_host=VHOST,
        confirm_publish=True,
    ) as connection:
        yield connection.channel()


def fence_message(**properties: Any) -> amqp.Message:
    """A cast of fence_host whose body says that an operator sent it."""
    call = {
        "method": "fence_host",
        "args": {"host": OTHER, "token": "t"},
        "version": "1.2",
        "_context_sender": "operator",
        "_context_user_id": "operator",
        "_unique_id": "forged",
    }
    envelope = {"oslo.version": "2.0", "oslo.message": json.dumps(call)}
    return amqp.Message(json.dumps(envelope), content_type="application/json", content_encoding="utf-8", **properties)


def settle(recorder: Recorder, transport: Any) -> None:
    """Return when the service has read all messages before this one."""
    ClaimsAPI(transport.conf, transport, PARTITION).release_claims(context.new(), HOST, REFS)
    assert recorder.calls[-1] == ("release_claims", AGENT)


@pytest.mark.parametrize("properties", [{}, {"user_id": AGENT}], ids=["without user_id", "with its own"])
def test_sender_in_the_body_is_not_believed(
    recorders: dict[str, Recorder], agent: Any, channel: amqp.Channel, properties: dict[str, str]
) -> None:
    channel.basic_publish(
        fence_message(**properties), exchange="gantt-claims", routing_key=f"claims.{PARTITION}", mandatory=True
    )
    settle(recorders["claims"], agent)
    assert "fence_host" not in [method for method, _ in recorders["claims"].calls]


def test_broker_refuses_another_users_name(recorders: dict[str, Recorder], channel: amqp.Channel) -> None:
    with pytest.raises(amqp.PreconditionFailed, match="user_id"):
        channel.basic_publish(
            fence_message(user_id="operator"), exchange="gantt-claims", routing_key=f"claims.{PARTITION}"
        )


@pytest.fixture(scope="module")
def neighbour(rabbit_node: RabbitNode) -> Iterator[str]:
    """The agent of the other host, serving; returns the name of its reply queue."""
    transport = transport_of(rabbit_node, agent_user(OTHER))
    target = oslo_messaging.Target(topic="compute", server=OTHER)
    recorder = Recorder("compute", ComputeAPI.VERSION)
    server = bus.get_server(transport, target, [recorder], GanttSerializer(), "threading")
    server.start()
    yield transport._driver._get_reply_q()
    server.stop()
    server.wait()
    transport.cleanup()


def test_queues_of_others_can_be_neither_read_nor_deleted(
    recorders: dict[str, Recorder], neighbour: str, channel: amqp.Channel
) -> None:
    assert neighbour.startswith(f"reply.{agent_user(OTHER)}.")
    fanout = f"compute_fanout.{agent_user(OTHER)}.{'0' * 32}"
    for queue in (neighbour, f"compute.{OTHER}", fanout, "conductor"):
        for refused in (
            lambda used, queue=queue: used.basic_get(queue),
            lambda used, queue=queue: used.queue_delete(queue),
            lambda used, queue=queue: used.queue_purge(queue),
            lambda used, queue=queue: used.queue_declare(queue),
        ):
            with pytest.raises(amqp.AccessRefused):
                refused(channel.connection.channel())


def test_exchanges_that_others_use_cannot_be_deleted(recorders: dict[str, Recorder], channel: amqp.Channel) -> None:
    for exchange in ("gantt-conductor", "gantt-compute", "gantt-replies", "compute_fanout"):
        with pytest.raises(amqp.AccessRefused):
            channel.connection.channel().exchange_delete(exchange)


def test_own_queue_cannot_be_bound_to_the_keys_of_others(
    recorders: dict[str, Recorder], neighbour: str, channel: amqp.Channel
) -> None:
    queue = f"compute.{HOST}"
    channel.queue_declare(queue)
    channel.queue_bind(queue, "gantt-compute", queue)
    for exchange, key in (
        ("gantt-compute", f"compute.{OTHER}"),
        ("gantt-compute", "#"),
        ("gantt-replies", neighbour),
        ("gantt-replies", "#"),
        ("gantt-conductor", "conductor"),
    ):
        with pytest.raises(amqp.AccessRefused):
            channel.connection.channel().queue_bind(queue, exchange, key)


def test_reply_cannot_be_forged(recorders: dict[str, Recorder], neighbour: str, channel: amqp.Channel) -> None:
    with pytest.raises(amqp.AccessRefused):
        channel.basic_publish(amqp.Message("{}"), exchange="gantt-replies", routing_key=neighbour)


def test_command_reaches_the_agent_that_it_names(rabbit_node: RabbitNode, neighbour: str) -> None:
    transport = transport_of(rabbit_node, "conductor")
    compute = ComputeAPI(transport.conf, transport)
    assert compute.list_guests(context.new(), OTHER) is None
    with pytest.raises(oslo_messaging.MessagingTimeout):
        compute.list_guests(context.new().with_timeout(0.2), HOST)
    transport.cleanup()
