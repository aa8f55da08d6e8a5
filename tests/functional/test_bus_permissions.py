# SPDX-License-Identifier: Apache-2.0
"""Each service's RabbitMQ user may call whom it must, over real RPC, and the broker refuses it all else."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import amqp
import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging._metrics import client as metrics
from oslo_messaging._tracing import client as tracing

from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.rabbitmq_users import CONTROL_EXCHANGE, SERVICE_USERS, VHOST

USERS = [user.name for user in SERVICE_USERS]
SERVED = [("scheduler", "scheduler"), ("scheduler", "claims.cell1"), ("conductor", "conductor")]
SERVED += [("compute", "compute")]
TOPICS = [topic for _, topic in SERVED]
ALLOWED = {
    "scheduler": {"conductor"},
    "conductor": {"scheduler", "claims.cell1", "compute"},
    "compute": {"scheduler", "claims.cell1", "conductor"},
    "client": {"scheduler", "claims.cell1", "conductor"},
}
PERMITTED = [(user, topic) for user in USERS for topic in TOPICS if topic in ALLOWED[user]]
FORBIDDEN = [(user, topic) for user in USERS for topic in TOPICS if topic not in ALLOWED[user]]
COMMANDS_NO_HOST = ["scheduler", "compute", "client"]
SERVER = "one"
CALL_SECONDS = 10


class Echo:
    """An endpoint that says which topic it was reached by."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def echo(self, _context: dict, text: str) -> list[str]:
        return [self.topic, text]


def transport_of(node: RabbitNode, user: str) -> oslo_messaging.Transport:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    conf.register_opts(tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    conf.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
    return oslo_messaging.get_rpc_transport(conf, node.url(user))


@pytest.fixture(scope="module")
def transports(rabbit_node: RabbitNode) -> Iterator[dict[str, oslo_messaging.Transport]]:
    """A transport per service user, and every service's topic served by the user it belongs to."""
    made = {user: transport_of(rabbit_node, user) for user in USERS}
    servers = []
    for user, topic in SERVED:
        target = oslo_messaging.Target(exchange=CONTROL_EXCHANGE, topic=topic, server=SERVER)
        server = oslo_messaging.get_rpc_server(made[user], target, [Echo(topic)], executor="threading")
        server.start()
        servers.append(server)
    yield made
    # An idle listener looks up from the broker every few seconds only: let all of them end at the same time.
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(lambda server: (server.stop(), server.wait()), servers))
    for transport in made.values():
        transport.cleanup()


@pytest.fixture
def channel(rabbit_node: RabbitNode, request: pytest.FixtureRequest) -> Iterator[amqp.Channel]:
    """A bare AMQP channel of the user that the test names: what a broken-into service could send."""
    user = request.param
    with amqp.Connection(
        host=f"{LOOPBACK}:{rabbit_node.ports.amqp}",
        userid=user,
        password=rabbit_node.passwords.of(user),
        virtual_host=VHOST,
        confirm_publish=True,
    ) as connection:
        yield connection.channel()


def client_of(transport: oslo_messaging.Transport, topic: str, **where) -> Any:
    target = oslo_messaging.Target(exchange=CONTROL_EXCHANGE, topic=topic, **where)
    return oslo_messaging.get_rpc_client(transport, target, timeout=CALL_SECONDS, retry=1)


@pytest.mark.parametrize(("user", "topic"), PERMITTED)
def test_a_permitted_call_is_answered(transports, user, topic):
    assert client_of(transports[user], topic).call({}, "echo", text="any") == [topic, "any"]
    directed = client_of(transports[user], topic, server=SERVER)
    assert directed.call({}, "echo", text="one") == [topic, "one"]


@pytest.mark.parametrize(("user", "topic"), FORBIDDEN)
def test_a_forbidden_call_is_refused_by_the_broker(transports, user, topic):
    for where in ({}, {"server": SERVER}):
        with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="ACCESS_REFUSED"):
            client_of(transports[user], topic, **where).call({}, "echo", text="no")


@pytest.mark.parametrize("user", COMMANDS_NO_HOST)
def test_only_the_conductor_may_fan_out_to_the_agents(transports, user):
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="ACCESS_REFUSED"):
        client_of(transports[user], "compute", fanout=True).cast({}, "echo", text="no")

    client_of(transports["conductor"], "compute", fanout=True).cast({}, "echo", text="yes")


@pytest.mark.parametrize("channel", COMMANDS_NO_HOST, indirect=True)
@pytest.mark.parametrize("exchange", ["", "gantt-replies", CONTROL_EXCHANGE, "compute_fanout"])
def test_no_exchange_is_a_way_around(transports, channel, exchange):
    with pytest.raises(amqp.AccessRefused):
        channel.basic_publish(amqp.Message("{}"), exchange=exchange, routing_key=f"compute.{SERVER}")


@pytest.mark.parametrize("channel", COMMANDS_NO_HOST, indirect=True)
def test_replies_cannot_be_bound_to_carry_commands(transports, channel):
    with pytest.raises(amqp.AccessRefused):
        channel.exchange_bind(CONTROL_EXCHANGE, "gantt-replies", routing_key=f"compute.{SERVER}")


@pytest.mark.parametrize(
    ("channel", "queue"),
    [("scheduler", f"compute.{SERVER}"), ("compute", "conductor"), ("client", "scheduler")],
    indirect=["channel"],
)
def test_nobody_reads_the_queue_of_another_service(transports, channel, queue):
    with pytest.raises(amqp.AccessRefused):
        channel.basic_get(queue)


@pytest.mark.parametrize(
    ("channel", "topic"),
    [("scheduler", "compute.#"), ("compute", "conductor"), ("client", "#")],
    indirect=["channel"],
)
def test_nobody_binds_a_queue_to_the_topic_of_another_service(transports, channel, topic):
    queue = "reply_of_a_spy"
    channel.queue_declare(queue, exclusive=True)
    with pytest.raises(amqp.AccessRefused):
        channel.queue_bind(queue, CONTROL_EXCHANGE, topic)
