# SPDX-License-Identifier: Apache-2.0
"""The user of one host's agent reaches no queue of other users, and the broker bounds what the user may take."""

import contextlib
import json
import time
import urllib.request
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import amqp
import pytest
from amqp.exceptions import MessageNacked

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi.access.broker_users import REPLY_EXCHANGE, VHOST, agent
from rpcapi.access.rabbit_management import BrokerAdministration
from tests.support.servers import AGENT_HOSTS

pytestmark = pytest.mark.long  # Only a real broker has these rules.

CAPTURED, OTHER = (agent(host).name for host in AGENT_HOSTS)
# A routed message arrives within this time.
SETTLE_SECONDS = 2.0
MAX_CONNECTIONS = 200
MAX_WAITING_BYTES = 64 << 20
MEGABYTE = 1 << 20

Open = Callable[[str], amqp.Channel]


@pytest.fixture
def open_channel(rabbit_node: RabbitNode) -> Iterator[Open]:
    """Return a function that opens a connection of a user, and a channel on it."""
    with ExitStack() as stack:

        def connect(user: str) -> amqp.Channel:
            connection = amqp.Connection(
                host=f"{LOOPBACK}:{rabbit_node.ports.amqp}",
                userid=user,
                password=rabbit_node.passwords.of(user),
                virtual_host=VHOST,
                confirm_publish=True,
            )
            connection.connect()
            stack.callback(close, connection)
            return connection.channel()

        yield connect


def close(connection: amqp.Connection) -> None:
    with contextlib.suppress(amqp.AMQPError, OSError):
        connection.close()


def reply_queue(user: str) -> str:
    return f"reply.{user}.{uuid.uuid4().hex}"


def declare_reply_queue(channel: amqp.Channel, user: str, **arguments: object) -> str:
    """Declare a reply queue of the user that ends after the test, bound like an agent's."""
    name = reply_queue(user)
    channel.queue_declare(name, auto_delete=False, arguments={"x-expires": 60_000, **arguments})
    channel.queue_bind(name, REPLY_EXCHANGE, name)
    return name


def publish_with_copy(channel: amqp.Channel, header: str, copy_to: str, body: str = "forged") -> None:
    """Answer a conductor, and let the broker copy the answer. The broker should refuse the copy."""
    message = amqp.Message(body, user_id=CAPTURED, application_headers={header: [copy_to]})
    with contextlib.suppress(amqp.AccessRefused):
        channel.basic_publish_confirm(message, REPLY_EXCHANGE, reply_queue("conductor"))


def arrives(channel: amqp.Channel, queue: str) -> bool:
    """Return whether the queue gets a message."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        if channel.basic_get(queue, no_ack=True) is not None:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="The broker checks no key to which it copies a message.")
@pytest.mark.parametrize("header", ["CC", "BCC"])
def test_copies_of_an_answer_reach_no_other_agent(open_channel: Open, header: str) -> None:
    victim = open_channel(OTHER)
    queue = declare_reply_queue(victim, OTHER)
    publish_with_copy(open_channel(CAPTURED), header, queue)
    assert not arrives(victim, queue)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="An agent may name an exchange for its dead letters.")
@pytest.mark.parametrize("exchange", [REPLY_EXCHANGE, "gantt-scheduler", "gantt-claims", "gantt-conductor"])
def test_dead_letters_of_own_queues_reach_nobody_else(open_channel: Open, exchange: str) -> None:
    """Such a message still has its sender's signature: here the scheduler's, of an answer to the agent."""
    reader, key = open_channel(ADMIN), f"key-{uuid.uuid4().hex}"
    queue = reader.queue_declare("", exclusive=True).queue
    reader.queue_bind(queue, exchange, key)
    arguments = {"x-message-ttl": 1, "x-dead-letter-exchange": exchange, "x-dead-letter-routing-key": key}
    try:
        own = declare_reply_queue(open_channel(CAPTURED), CAPTURED, **arguments)
    except amqp.AccessRefused:
        return
    answer = amqp.Message("answer", user_id="scheduler")
    open_channel("scheduler").basic_publish_confirm(answer, REPLY_EXCHANGE, own)
    assert not arrives(reader, queue)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="A queue of answers that nobody reads has no bound.")
def test_unread_queue_is_bounded(open_channel: Open) -> None:
    """Unbounded, it raises the broker's memory alarm, which stops all that publish."""
    channel = open_channel(CAPTURED)
    queue = declare_reply_queue(channel, CAPTURED)
    for _ in range(2 * MAX_WAITING_BYTES // MEGABYTE):
        with contextlib.suppress(amqp.AMQPError, MessageNacked):
            publish_with_copy(channel, "CC", queue, "x" * MEGABYTE)
    reader = open_channel(ADMIN)
    waiting = reader.queue_declare(queue, passive=True).message_count
    reader.queue_delete(queue)
    assert waiting * MEGABYTE <= MAX_WAITING_BYTES


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="A user may open any number of connections.")
def test_connections_of_a_user_are_bounded(open_channel: Open) -> None:
    opened = 0
    with contextlib.suppress(amqp.AMQPError, OSError):
        while opened <= MAX_CONNECTIONS:
            open_channel(CAPTURED)
            opened += 1
    assert opened <= MAX_CONNECTIONS


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="Queues outlive the user who declared them.")
def test_revoked_user_leaves_no_queue(managed_rabbit: tuple[RabbitNode, str]) -> None:
    node, address = managed_rabbit
    administration = BrokerAdministration(f"http://{ADMIN}:{node.passwords.of(ADMIN)}@{address}")
    user, password = agent(f"h-{uuid.uuid4().hex[:8]}"), "p" * 24
    administration.enroll(user, password)
    with amqp.Connection(
        host=f"{LOOPBACK}:{node.ports.amqp}", userid=user.name, password=password, virtual_host=VHOST
    ) as connection:
        connection.channel().queue_declare(reply_queue(user.name), durable=True, auto_delete=False)
    administration.revoke(user.name)
    assert not [name for name in queues(address, node.passwords.of(ADMIN)) if user.name in name]


def queues(address: str, password: str) -> list[str]:
    """Return the names of all queues, by the management API."""
    host, _, vhost = address.partition("/")
    request = urllib.request.Request(f"http://{host}/api/queues/{vhost}?columns=name")
    request.add_header("Authorization", "Basic " + b64encode(f"{ADMIN}:{password}".encode()).decode())
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - of this test
        return [row["name"] for row in json.load(answer)]
