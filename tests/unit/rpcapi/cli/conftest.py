# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a cluster of doubles on an in-process bus, and the command run against it."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from oslo_config import cfg

from rpcapi.cli import main
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from tests.unit.rpcapi.cli import doubles

EXCHANGE = "shell"  # other suites serve in this process
BUS = f"transport_url = fake://\ncontrol_exchange = {EXCHANGE}\n"


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command run."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session")
def _served_cluster() -> Iterator[doubles.Cluster]:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    transport = bus.get_transport(conf, "fake://")
    conf.set_override("control_exchange", EXCHANGE)
    cluster_doubles = doubles.Cluster()
    servers = [
        bus.get_server(transport, target, [endpoint], GanttSerializer(), executor="threading")
        for target, endpoint in cluster_doubles.endpoints()
    ]
    for server in servers:
        server.start()
    yield cluster_doubles
    for server in servers:
        server.stop()
        server.wait()
    transport.cleanup()


@pytest.fixture
def cluster(_served_cluster) -> doubles.Cluster:
    """Fresh doubles of the services, served over the bus."""
    _served_cluster.reset()
    return _served_cluster


@pytest.fixture
def config_file(tmp_path, monkeypatch):
    """A client configuration isolated from the machine's own."""
    for name in ("GANTT_CONFIG_FILE", "GANTT_RUN", "GANTT_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    path = tmp_path / "client.conf"
    path.write_text(f"[DEFAULT]\n{BUS}[rpc]\ncall_timeout = 5\n")
    return path


@pytest.fixture
def gantt(config_file, capsys) -> Iterator[Callable[..., CommandResult]]:
    """Return a function that runs the command like its console script."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def run(*argv: str) -> CommandResult:
        capsys.readouterr()
        try:
            code = main.main(["--config-file", str(config_file), *argv])
        except SystemExit as exit_error:
            code = exit_error.code
        return CommandResult(code, *capsys.readouterr())

    yield run
    root.handlers = handlers
    root.setLevel(level)
