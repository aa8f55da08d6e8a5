# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a cluster of fakes on an in-process bus, and the command run against it."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from oslo_config import cfg

from rpcapi.cli import live_output, main
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from tests.unit.rpcapi.cli import fakes

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
def _served_cluster() -> Iterator[fakes.Cluster]:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    transport = bus.get_transport(conf, "fake://")
    conf.set_override("control_exchange", EXCHANGE)
    cluster_fakes = fakes.Cluster()
    servers = [
        bus.get_server(transport, target, [endpoint], GanttSerializer(), executor="threading")
        for target, endpoint in cluster_fakes.endpoints()
    ]
    for server in servers:
        server.start()
    yield cluster_fakes
    for server in servers:
        server.stop()
        server.wait()
    transport.cleanup()


@pytest.fixture
def cluster(_served_cluster) -> fakes.Cluster:
    """Fresh fakes of the services, served over the bus."""
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


@pytest.fixture
def in_pauses(monkeypatch) -> Callable[..., None]:
    """Return a function that has a following command make one of the changes in each pause; the last is interrupted."""

    def plan(*changes: Callable[[], object]) -> None:
        steps = iter(changes)

        def pause(seconds: float) -> None:
            step = next(steps, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(live_output, "pause", pause)

    return plan


@pytest.fixture
def hosts(cluster):
    """Three service hosts, four nodes and a conductor; host2 is disabled and host3 is down."""
    cluster.scheduler.service("host1")
    cluster.scheduler.service("host2", enabled=False, disabled_reason="broken fan")
    cluster.scheduler.service("host3", alive=False)
    cluster.scheduler.service("gantt-conductor@c1", binary="gantt-conductor")
    cluster.scheduler.node("host1/node1", used=6, traits=["CUSTOM_A"])
    cluster.scheduler.node("host1/node2")
    cluster.scheduler.node("host2", zone="az2")
    cluster.scheduler.node("host3/node1")
    return cluster.scheduler


@pytest.fixture
def aggregates(cluster):
    """Documents of aggregates by their id; one of them is deleted."""
    for host in ("h1", "h3", "h8"):
        cluster.scheduler.service(host)
    cluster.scheduler.node("h2/n1")
    documents = cluster.scheduler.state["aggregate"]
    documents["ssd"] = {"name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}, "version": 4}
    documents["az2"] = {"hosts": ["h2"], "metadata": {"availability_zone": "az2"}}
    documents["former"] = {"hosts": [], "deleted": True, "version": 9}
    return documents


@pytest.fixture
def racks(cluster):
    """Documents of three hosts in the namespace rack."""
    cluster.scheduler.state["rack"] = {
        "h1": {"power": "on", "watts": 300},
        "h1/n1": {"power": "off"},
        "h2": {"power": "on", "row": 7},
    }
    return cluster.scheduler
