# SPDX-License-Identifier: Apache-2.0
"""A whole deployment in the test's process: scheduler worker, conductor and simulated agents on the in-memory bus."""

import contextlib
import io
import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.service import ComputeService
from conductor import conf as conductor_conf
from conductor.service import ConductorService
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from rpcapi import conf as rpc_conf
from rpcapi.cli import main
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.service import SchedulerService
from tests.support.clusters import truth
from tests.support.scheduler.workers import ShortPollStore

NAMESPACES = ("aggregate", "flavor", "image")


class CommandResult(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class OneProcessCloud:
    """The services over memory stores, and the command `gantt` against them; instances boot at once."""

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        self._folder = folder
        self._exchange = uuid.uuid4().hex  # all fake transports of a process share their exchanges
        self.hosts = hosts
        self.store = ShortPollStore("default", namespaces=NAMESPACES)
        self._client_file = self._write_client_file()
        scheduler = self._conf(scheduler_conf.register_opts, {})
        conductor = self._conf(conductor_conf.register_opts, {"conductor": {"host": "c1", "pump_interval": 0.05}})
        agents = self._conf(
            compute_conf.register_opts,
            {
                "compute": {"hosts": list(hosts), "nodes_per_host": 1, "state_path": str(folder / "agents")},
                "simulator": {"boot_delay": 0, "boot_delay_spread": 0},
            },
        )
        self._services: list[Any] = [
            SchedulerService(scheduler, 0, lambda _partition: self.store),
            ConductorService(conductor, MemoryConductorStore(StoreTimeouts())),
            ComputeService(agents),
        ]
        self._client = self._conf(lambda _conf: None, {})
        transport = bus.get_transport(self._client)
        self.scheduler = SchedulerAPI(self._client, transport)
        self.conductor = ConductorAPI(self._client, transport)

    def _conf(self, register: Callable[..., object], options: Mapping[str, Mapping[str, object]]) -> cfg.ConfigOpts:
        conf = cfg.ConfigOpts()
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        rpc_conf.register_opts(conf)
        register(conf)
        bus.set_defaults(conf)
        conf.set_override("transport_url", "fake://")
        conf.set_override("control_exchange", self._exchange)
        for group, values in options.items():
            for name, value in values.items():
                conf.set_override(name, value, group=group)
        return conf

    def _write_client_file(self) -> Path:
        path = self._folder / "client.conf"
        path.write_text(
            f"[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = {self._exchange}\n[rpc]\ncall_timeout = 10\n"
        )
        return path

    def start(self) -> None:
        """Start all services, and wait until the worker has all hosts."""
        for service in self._services:
            service.start()
        truth.until("all hosts have joined", lambda: len(self.store.snapshot().opened) == len(self.hosts))
        self.follow()

    def stop(self) -> None:
        for service in reversed(self._services):
            service.stop()
        for service in reversed(self._services):
            service.wait()

    def follow(self) -> None:
        """Wait until the worker has read all that was stored."""
        replica = self._services[0]._worker.scheduling.partitions.own.replica
        assert replica.reach(self.store.state.position, 10)

    def gantt(self, *arguments: str) -> CommandResult:
        """Run the command; its answer is final when it returns."""
        out, err = io.StringIO(), io.StringIO()
        handlers = list(logging.root.handlers)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main.main(["--config-file", str(self._client_file), *arguments])
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            finally:
                logging.root.handlers = handlers
        self.follow()
        return CommandResult(code or 0, out.getvalue(), err.getvalue())

    def boot(self, *arguments: str) -> dict[str, Any]:
        """Boot a server and wait; return its row, with status "refused" and the reason if the request is."""
        result = self.gantt("boot", "--flavor", "m1.tiny", "--wait", "-f", "json", *arguments)
        if not result.out:
            return {"status": "refused", "host": None, "reason": result.err}
        row: dict[str, Any] = result.json[0]
        return row


@contextlib.contextmanager
def running(folder: Path, *hosts: str) -> Iterator[OneProcessCloud]:
    """Run a deployment with these hosts, one node each."""
    cloud = OneProcessCloud(folder, hosts)
    try:
        cloud.start()
        yield cloud
    finally:
        cloud.stop()
