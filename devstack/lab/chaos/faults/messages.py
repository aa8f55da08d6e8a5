# SPDX-License-Identifier: Apache-2.0
"""Faults of the bus: kill, closed or cut connections, purged queues, repeated messages."""

import contextlib
import threading
import uuid

import amqp

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.faults.fault import BUS, DaemonFault, Fault
from devstack.servers.ports import LOOPBACK
from rpcapi.access.broker_users import VHOST

TAP_SECONDS = (1.0, 3.0)
MOST_MESSAGES = 500
SERVICES = ("conductor", "scheduler", "claims", "compute")


class _BusFault(Fault):
    targets = frozenset({BUS})


class BusKilled(_BusFault):
    """Kill and restart of RabbitMQ, which loses transient messages."""

    KIND = "bus killed"

    def inject(self) -> str:
        self.cluster.rabbit.kill()
        return "RabbitMQ"

    def heal(self) -> bool:
        self.cluster.rabbit.start()
        return True


class ConnectionsClosed(_BusFault):
    """Closing of all connections of one daemon or of all daemons, which loses messages on their way."""

    KIND = "connections closed"

    def inject(self) -> str:
        names = sorted(self.cluster.proxies)
        if self.chance.random() < 0.5:
            names = [self.chance.choice(names)]
        count = sum(self.cluster.proxies[name].close_connections() for name in names)
        return f"{count} connections of {', '.join(names)}"


class AgentCutOff(DaemonFault):
    """Interrupted traffic between an agent and the bus; later the messages arrive or the connections break."""

    KIND = "agent cut off"
    PROGRAM = "compute"
    HOLD = (1.0, 12.0)

    def inject(self) -> str:
        self.cluster.proxies[self.name].cut()
        return self.name

    def heal(self) -> bool:
        proxy = self.cluster.proxies[self.name]
        if self.chance.random() < 0.5:
            proxy.close_connections()
        proxy.mend()
        return True


class QueuesPurged(Fault):
    """Purge of a program's queues after a kill of its daemons, which would keep the queues empty."""

    KIND = "queues purged"
    NEEDS_LOAD = True
    purged: int = 0
    program: str

    def choose(self) -> None:
        self.program = self.chance.choice(sorted(set(self.cluster.programs.values())))
        self.targets = frozenset({BUS, *self._names()})

    def inject(self) -> str:
        for name in self._names():
            self.cluster.kill_daemon(name)
        threading.Event().wait(self.chance.uniform(*TAP_SECONDS))
        queues = _queues(self.cluster)
        with _connection(self.cluster, ADMIN) as connection:
            self.purged = sum(_purge(connection, queue) for queue in queues)
        return f"{self.purged} messages of {len(queues)} queues, without any {self.program}"

    def heal(self) -> bool:
        self.cluster.revive()
        return self.purged > 0

    def _names(self) -> list[str]:
        return [name for name, program in self.cluster.programs.items() if program == self.program]


class MessagesRepeated(_BusFault):
    """Repetition of captured messages: late, reordered, some of them twice."""

    KIND = "messages duplicated and reordered"
    NEEDS_LOAD = True
    repeated: int = 0

    def inject(self) -> str:
        service = self.chance.choice(SERVICES)
        with _connection(self.cluster, ADMIN) as connection:
            channel = connection.channel()
            tap = f"tap-{uuid.uuid4().hex}"
            channel.queue_declare(tap, exclusive=True)
            channel.queue_bind(tap, f"gantt-{service}", "#")
            threading.Event().wait(self.chance.uniform(*TAP_SECONDS))
            messages: list[amqp.Message] = []
            while len(messages) < MOST_MESSAGES:
                message = channel.basic_get(tap, no_ack=True)
                if message is None:
                    break
                messages.append(message)
            channel.queue_delete(tap)
        messages += [message for message in messages if self.chance.random() < 0.3]
        self.chance.shuffle(messages)
        self._publish(messages)
        return f"{self.repeated} messages to {service}"

    def heal(self) -> bool:
        return self.repeated > 0

    def _publish(self, messages: list[amqp.Message]) -> None:
        """Publish each message as its original sender, because the broker verifies the user id."""
        by_user: dict[str, list[amqp.Message]] = {}
        for message in messages:
            by_user.setdefault(message.properties.get("user_id", ADMIN), []).append(message)
        for user, own in by_user.items():
            with _connection(self.cluster, user) as connection:
                channel = connection.channel()
                for message in own:
                    delivery = message.delivery_info
                    copy = amqp.Message(_with_new_id(message.body), **message.properties)
                    channel.basic_publish(copy, delivery["exchange"], delivery["routing_key"])
                    self.repeated += 1


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


FAULTS: tuple[type[Fault], ...] = (BusKilled, ConnectionsClosed, AgentCutOff, QueuesPurged, MessagesRepeated)
