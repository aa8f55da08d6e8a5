# SPDX-License-Identifier: Apache-2.0
"""A cluster of doubles on an in-process bus, and the command run against it."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from oslo_config import cfg

from rpcapi import bus
from rpcapi.serializer import GanttSerializer
from rpcapi.shell import main
from tests.unit.rpcapi.shell import doubles

EXCHANGE = "shell"  # other suites serve in this process
BUS = f"transport_url = fake://\ncontrol_exchange = {EXCHANGE}\n"


@dataclass(frozen=True)
class Outcome:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session")
def _served() -> Iterator[doubles.Cluster]:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    transport = bus.get_transport(conf, "fake://")
    conf.set_override("control_exchange", EXCHANGE)
    made = doubles.Cluster()
    servers = [
        bus.get_server(transport, target, [endpoint], GanttSerializer(), executor="threading")
        for target, endpoint in made.endpoints()
    ]
    for server in servers:
        server.start()
    yield made
    for server in servers:
        server.stop()
        server.wait()
    transport.cleanup()


@pytest.fixture
def cluster(_served) -> doubles.Cluster:
    """Doubles of the services, fresh, and served over the bus as the real ones are."""
    _served.reset()
    return _served


@pytest.fixture
def config_file(tmp_path, monkeypatch):
    """A client's configuration, which nothing of the machine's own leaks into."""
    for name in ("GANTT_CONFIG_FILE", "GANTT_RUN", "GANTT_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    path = tmp_path / "client.conf"
    path.write_text(f"[DEFAULT]\n{BUS}[rpc]\ncall_timeout = 5\n")
    return path


@pytest.fixture
def gantt(config_file, capsys) -> Iterator[Callable[..., Outcome]]:
    """Run the command as its console script would, and return what it left behind."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def run(*argv: str) -> Outcome:
        capsys.readouterr()
        try:
            code = main.main(["--config-file", str(config_file), *argv])
        except SystemExit as left:
            code = left.code
        return Outcome(code, *capsys.readouterr())

    yield run
    root.handlers = handlers
    root.setLevel(level)
