# SPDX-License-Identifier: Apache-2.0
"""Faults of the bus: kill, closed or cut connections, purged queues, repeated messages."""

import contextlib
import random
import time
import uuid
from collections import defaultdict

import amqp

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.faults.fault import BUS, Fault, FaultKind, Steps, Target, draw_bus, draw_daemon
from devstack.servers.ports import LOOPBACK
from rpcapi.access.broker_users import VHOST

TAP_SECONDS = (1.0, 3.0)
MOST_MESSAGES = 500
SERVICES = ("conductor", "scheduler", "claims", "compute")


def kill_bus(fault: Fault) -> Steps:
    """Kill and restart RabbitMQ, which loses transient messages."""
    fault.cluster.rabbit.kill()
    yield "RabbitMQ"
    fault.cluster.rabbit.start()


def close_connections(fault: Fault) -> Steps:
    """Close all connections of one daemon or of all daemons, which loses messages on their way."""
    names = sorted(fault.cluster.proxies)
    if fault.chance.random() < 0.5:
        names = [fault.chance.choice(names)]
    count = sum(fault.cluster.proxies[name].close_connections() for name in names)
    yield f"{count} connections of {', '.join(names)}"


def cut_off_agent(fault: Fault, name: str) -> Steps:
    """Interrupt the traffic between an agent and the bus; later the messages arrive or the connections break."""
    proxy = fault.cluster.proxies[name]
    proxy.cut()
    yield name
    if fault.chance.random() < 0.5:
        proxy.close_connections()
    proxy.mend()


def draw_program(cluster: ChaosCluster, chance: random.Random) -> Target:
    program = chance.choice(sorted(set(cluster.programs.values())))
    names = [name for name, own in cluster.programs.items() if own == program]
    return frozenset({BUS, *names}), (program, names)


def purge_queues(fault: Fault, program: str, names: list[str]) -> Steps:
    """Purge a program's queues after a kill of its daemons, which would keep the queues empty."""
    for name in names:
        fault.cluster.kill_daemon(name)
    time.sleep(fault.chance.uniform(*TAP_SECONDS))
    queues = _queues(fault.cluster)
    with _connection(fault.cluster, ADMIN) as connection:
        purged = sum(_purge(connection, queue) for queue in queues)
    yield f"{purged} messages of {len(queues)} queues, without any {program}"
    fault.cluster.revive()
    fault.occurred = purged > 0


def repeat_messages(fault: Fault) -> Steps:
    """Repeat captured messages: late, reordered, some of them twice."""
    service = fault.chance.choice(SERVICES)
    with _connection(fault.cluster, ADMIN) as connection:
        channel = connection.channel()
        tap = f"tap-{uuid.uuid4().hex}"
        channel.queue_declare(tap, exclusive=True)
        channel.queue_bind(tap, f"gantt-{service}", "#")
        time.sleep(fault.chance.uniform(*TAP_SECONDS))
        messages: list[amqp.Message] = []
        while len(messages) < MOST_MESSAGES and (message := channel.basic_get(tap, no_ack=True)) is not None:
            messages.append(message)
        channel.queue_delete(tap)
    messages += [message for message in messages if fault.chance.random() < 0.3]
    fault.chance.shuffle(messages)
    _publish(fault.cluster, messages)
    yield f"{len(messages)} messages to {service}"
    fault.occurred = bool(messages)


def _publish(cluster: ChaosCluster, messages: list[amqp.Message]) -> None:
    """Publish each message as its original sender, because the broker verifies the user id."""
    by_user: dict[str, list[amqp.Message]] = defaultdict(list)
    for message in messages:
        by_user[message.properties.get("user_id", ADMIN)].append(message)
    for user, own in by_user.items():
        with _connection(cluster, user) as connection:
            channel = connection.channel()
            for message in own:
                delivery = message.delivery_info
                copy = amqp.Message(_with_new_id(message.body), **message.properties)
                channel.basic_publish(copy, delivery["exchange"], delivery["routing_key"])


def _with_new_id(body: str | bytes) -> str:
    """Replace the message's unique id, because the bus driver drops repeated ids."""
    text = body if isinstance(body, str) else body.decode()
    marker = '_unique_id\\": \\"'
    head, separator, tail = text.partition(marker)
    return f"{head}{marker}{uuid.uuid4().hex}{tail[32:]}" if separator else text


def _connection(cluster: ChaosCluster, user: str) -> contextlib.AbstractContextManager[amqp.Connection]:
    node = cluster.rabbit
    connection = amqp.Connection(
        host=f"{LOOPBACK}:{node.ports.amqp}",
        userid=user,
        password=node.passwords.of(user),
        virtual_host=VHOST,
        connect_timeout=5,
        read_timeout=20,
    )
    connection.connect()
    return contextlib.closing(connection)


def _queues(cluster: ChaosCluster) -> list[str]:
    hosts = [
        folder.name for agent in cluster.agents for folder in cluster.state_folder(agent).iterdir() if folder.is_dir()
    ]
    claims = [f"claims.{partition}" for partition in cluster.stores]
    return ["conductor", "scheduler", *claims, *(f"compute.{host}" for host in sorted(hosts))]


def _purge(connection: amqp.Connection, queue: str) -> int:
    channel = connection.channel()
    try:
        count = int(channel.queue_purge(queue) or 0)
        channel.close()
    except amqp.NotFound:
        return 0
    return count


FAULTS = (
    FaultKind("bus killed", draw_bus, kill_bus),
    FaultKind("connections closed", draw_bus, close_connections),
    FaultKind("agent cut off", draw_daemon("compute"), cut_off_agent, (1.0, 12.0)),
    FaultKind("queues purged", draw_program, purge_queues, needs_load=True),
    FaultKind("messages duplicated and reordered", draw_bus, repeat_messages, needs_load=True),
)
