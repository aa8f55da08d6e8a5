# SPDX-License-Identifier: Apache-2.0
"""Permissions of the services' RabbitMQ users over real RPC: required calls pass, the broker refuses all others."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import amqp
import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi.access.broker_users import REPLY_EXCHANGE, SERVICE_USERS, VHOST
from rpcapi.access.senders import DIRECTED_SERVICES
from rpcapi.messaging import bus

USERS = [user.name for user in SERVICE_USERS]
SERVED = [
    ("scheduler", "scheduler"),
    ("scheduler", "claims.cell1"),
    ("conductor", "conductor"),
    ("compute", "compute"),
]
TOPICS = [topic for _, topic in SERVED]
ALLOWED = {
    "scheduler": {"conductor"},
    "conductor": {"scheduler", "claims.cell1", "compute"},
    "compute": {"scheduler", "claims.cell1", "conductor"},
    "operator": {"scheduler", "claims.cell1", "conductor"},
    "reader": {"scheduler", "claims.cell1", "conductor"},
    "client": {"scheduler", "conductor"},
}
PERMITTED = [(user, topic) for user in USERS for topic in TOPICS if topic in ALLOWED[user]]
FORBIDDEN = [(user, topic) for user in USERS for topic in TOPICS if topic not in ALLOWED[user]]
COMMANDS_NO_HOST = ["scheduler", "compute", "operator", "reader", "client"]
SERVER = "one"
HOST_QUEUE = f"compute.{SERVER}"
CALL_SECONDS = 10


class Echo:
    """An endpoint that returns its topic."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    @oslo_messaging.expose
    def echo(self, _context: dict, text: str) -> list[str]:
        return [self.topic, text]


def transport_of(node: RabbitNode, user: str) -> oslo_messaging.Transport:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    transport = bus.get_transport(conf, node.url(user))
    conf.set_override("shared_agent_hosts", [SERVER], group="rpc")
    return transport


@pytest.fixture(scope="module")
def transports(rabbit_node: RabbitNode) -> Iterator[dict[str, oslo_messaging.Transport]]:
    """A transport per service user, and every service's topic served by the user it belongs to.

    The servers have no table of callers: this page tests what the broker allows.
    """
    user_transports = {user: transport_of(rabbit_node, user) for user in USERS}
    servers = []
    for user, topic in SERVED:
        target = oslo_messaging.Target(topic=topic, server=SERVER)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bus, "access_of", lambda service: None)
            server = bus.get_server(user_transports[user], target, [Echo(topic)], executor="threading")
        server.start()
        servers.append(server)
    yield user_transports
    # An idle listener checks for its end every few seconds only: stop all of them in parallel.
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(lambda server: (server.stop(), server.wait()), servers))
    for transport in user_transports.values():
        transport.cleanup()


@pytest.fixture
def channel(rabbit_node: RabbitNode, request: pytest.FixtureRequest) -> Iterator[amqp.Channel]:
    """A bare AMQP channel of a user, as a compromised service could use it."""
    user = request.param
    with amqp.Connection(
        host=f"{LOOPBACK}:{rabbit_node.ports.amqp}",
        userid=user,
        password=rabbit_node.passwords.of(user),
        virtual_host=VHOST,
        confirm_publish=True,
    ) as connection:
        user_channel = connection.channel()
        user_channel.user = user
        yield user_channel


def client_of(transport: oslo_messaging.Transport, topic: str, **target_fields: Any) -> Any:
    return bus.get_client(transport, oslo_messaging.Target(topic=topic, **target_fields), timeout=CALL_SECONDS)


def own_queue(channel: amqp.Channel) -> str:
    """The name of a reply queue that the channel's user may declare."""
    return f"reply.{channel.user}.{uuid.uuid4().hex}"


@pytest.mark.parametrize(("user", "topic"), PERMITTED)
def test_permitted_call_is_answered(transports, user, topic):
    if topic not in DIRECTED_SERVICES:
        assert client_of(transports[user], topic).call({}, "echo", text="any") == [topic, "any"]
    directed = client_of(transports[user], topic, server=SERVER)
    assert directed.call({}, "echo", text="one") == [topic, "one"]


@pytest.mark.parametrize(("user", "topic"), FORBIDDEN)
def test_forbidden_call_is_refused_by_the_broker(transports, user, topic):
    for target_fields in ({}, {"server": SERVER}):
        with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="ACCESS_REFUSED"):
            client_of(transports[user], topic, **target_fields).call({}, "echo", text="no")


@pytest.mark.parametrize("user", COMMANDS_NO_HOST)
def test_only_the_conductor_may_fan_out_to_the_agents(transports, user):
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="ACCESS_REFUSED"):
        client_of(transports[user], "compute", fanout=True).cast({}, "echo", text="no")

    client_of(transports["conductor"], "compute", fanout=True).cast({}, "echo", text="yes")


@pytest.mark.parametrize("channel", COMMANDS_NO_HOST, indirect=True)
@pytest.mark.parametrize("exchange", ["gantt-compute", "compute_fanout", "", REPLY_EXCHANGE])
def test_no_exchange_leads_to_an_agent(transports, channel, exchange):
    with pytest.raises(amqp.AccessRefused):
        channel.basic_publish(amqp.Message("{}"), exchange=exchange, routing_key=HOST_QUEUE)


@pytest.mark.parametrize("channel", COMMANDS_NO_HOST, indirect=True)
@pytest.mark.parametrize("exchange", ["gantt-compute", ""])
def test_broker_does_not_dead_letter_to_an_agent(transports, channel, exchange):
    arguments = {
        "x-message-ttl": 0,
        "x-dead-letter-exchange": exchange,
        "x-dead-letter-routing-key": HOST_QUEUE,
    }
    with pytest.raises(amqp.AccessRefused):
        channel.queue_declare(own_queue(channel), exclusive=True, arguments=arguments)


@pytest.mark.parametrize("channel", COMMANDS_NO_HOST, indirect=True)
def test_replies_cannot_be_bound_to_carry_commands(transports, channel):
    with pytest.raises(amqp.AccessRefused):
        channel.exchange_bind("gantt-compute", REPLY_EXCHANGE, routing_key=HOST_QUEUE)


@pytest.mark.parametrize(
    ("channel", "queue"),
    [("scheduler", HOST_QUEUE), ("compute", "conductor"), ("client", "scheduler"), ("conductor", HOST_QUEUE)],
    indirect=["channel"],
)
def test_queue_of_another_service_cannot_be_read(transports, channel, queue):
    with pytest.raises(amqp.AccessRefused):
        channel.basic_get(queue)


@pytest.mark.parametrize(
    ("channel", "exchange", "key"),
    [
        ("scheduler", "gantt-compute", "#"),
        ("compute", "gantt-conductor", "conductor"),
        ("client", "gantt-claims", "#"),
        ("client", REPLY_EXCHANGE, "#"),
    ],
    indirect=["channel"],
)
def test_exchanges_of_others_cannot_be_bound(transports, channel, exchange, key):
    queue = own_queue(channel)
    channel.queue_declare(queue, exclusive=True)
    with pytest.raises(amqp.AccessRefused):
        channel.queue_bind(queue, exchange, key)
