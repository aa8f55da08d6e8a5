# SPDX-License-Identifier: Apache-2.0
"""lab.sh rpc --users: a RabbitMQ node with many agents' users compared with a node with a single user."""

import argparse
import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from devstack.deploy.users.folder import Passwords, private_folder
from devstack.deploy.users.rabbitmq_users import ADMIN, definitions
from devstack.lab import private_cluster
from devstack.lab.private_servers import started
from devstack.lab.processor_time import resident_kb
from devstack.lab.rows import ResultRow
from devstack.lab.rpc.callers import ECHO, CallTimes, alternate_blocks, run_callers
from devstack.lab.rpc.echo_service import TOPIC
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.process import ServerProcess
from devstack.servers.rabbitmq import CONFINED_DRIVER, RabbitNode
from rpcapi.access import broker_users
from rpcapi.access.rabbit_management import BrokerAdministration

IMPORT_PART = 1000  # users per request, because the management API limits its size
IMPORT_SECONDS = 120.0
PASSWORD = "lab"  # noqa: S105 - of all agents of a node that ends with the measurement
MAX_USERS = 100_000


class AgentPasswords(Passwords):
    """Passwords of a node whose agents share one password, without a file for each."""

    def of(self, user: str) -> str:
        return super().of(user) if user == ADMIN else PASSWORD


class AgentsBroker:
    """RabbitMQ node with the users of ``users`` agents, and an echo daemon that they may call."""

    def __init__(self, folder: Path, users: int) -> None:
        private_folder(folder)
        self._folder = folder
        # These agents may also call the echo service.
        self._agents = [
            replace(agent, calls=(*agent.calls, TOPIC))
            for agent in (broker_users.agent(f"host{number}") for number in range(users))
        ]
        self._management_port = free_port()
        self._node = RabbitNode(folder / "rabbit", management_port=self._management_port)
        self._echo = ServerProcess("the lab's echo", folder / "echo.pid", folder / "echo.log")
        self.import_s = 0.0
        self.memory_mb = 0.0

    def start(self, executor: str) -> None:
        self._node.start()
        url = f"http://{ADMIN}:{self._node.passwords.of(ADMIN)}@{LOOPBACK}:{self._management_port}/{broker_users.VHOST}"
        administration, passwords = BrokerAdministration(url), AgentPasswords(self._node.folder)
        parts = [self._agents[first : first + IMPORT_PART] for first in range(0, len(self._agents), IMPORT_PART)]
        documents = [definitions(agents, passwords) for agents in parts]
        began = time.monotonic()
        for document in documents:
            administration.import_definitions(document, IMPORT_SECONDS)
        self.import_s = time.monotonic() - began
        private_cluster.start_echo(self._echo, self._folder / "echo.conf", self._node.url(), executor, workers=1)

    def urls(self, clients: int) -> list[str]:
        """Return one transport URL per client, for different agents as far as possible."""
        names = [self._agents[number % len(self._agents)].name for number in range(clients)]
        address = f"{LOOPBACK}:{self._node.ports.amqp}/{broker_users.VHOST}"
        return [f"{CONFINED_DRIVER}://{quote(name, safe='')}:{PASSWORD}@{address}" for name in names]

    def measure_memory(self) -> None:
        assert self._node.pid is not None  # noqa: S101 - it was started
        self.memory_mb = resident_kb(self._node.pid) / 1024

    def close(self) -> None:
        self._echo.stop(private_cluster.STOP_SECONDS)
        self._node.kill()
        self._node.stop()


def measure(args: argparse.Namespace, blocks: int) -> Iterator[ResultRow]:
    executor = args.executors[0]
    with _running(1, executor) as single, _running(args.users, executor) as all_users, contextlib.ExitStack() as stack:
        callers = [stack.enter_context(run_callers(broker.urls(args.clients))) for broker in (single, all_users)]
        calls = {number: partial(own.call_for, ECHO, args.seconds) for number, own in enumerate(callers)}
        statistics = [CallTimes.joined(own[1:]) for own in alternate_blocks(calls, blocks).values()]
        single.measure_memory()
        all_users.measure_memory()
    yield from make_rows(args.users, single, all_users, *statistics)


def make_rows(
    users: int, single: AgentsBroker, all_users: AgentsBroker, one_calls: CallTimes, all_calls: CallTimes
) -> Iterator[ResultRow]:
    yield ResultRow(
        f"import of {users} users",
        all_users.import_s / single.import_s,
        figures={"users": users, "import_s": all_users.import_s, "one_import_s": single.import_s},
    )
    yield ResultRow(
        f"broker's memory, {users} users",
        all_users.memory_mb / single.memory_mb,
        figures={
            "users": users,
            "memory_mb": all_users.memory_mb,
            "one_memory_mb": single.memory_mb,
            "memory_per_user_kb": (all_users.memory_mb - single.memory_mb) * 1024 / users,
        },
    )
    yield ResultRow(
        f"calls per second, {users} users",
        all_calls.per_second / one_calls.per_second,
        bound="at least",
        figures={"users": users, **all_calls.figures(), **one_calls.figures("one_")},
    )


def _running(users: int, executor: str) -> contextlib.AbstractContextManager[AgentsBroker]:
    return started(
        lambda folder: AgentsBroker(folder / "node", users), lambda broker: broker.start(executor), AgentsBroker.close
    )
