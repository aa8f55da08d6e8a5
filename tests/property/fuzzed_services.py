# SPDX-License-Identifier: Apache-2.0
"""The endpoints of all services in this process, on stores that only their calls change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from compute_agent.endpoints.compute import ComputeEndpoint
from conductor import conf as conductor_conf
from conductor.service import ConductorService
from conductor.service_clients import ServiceClients
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from rpcapi import conf as rpc_conf
from rpcapi import objects
from rpcapi.messaging import bus
from scheduler_svc.composition import tasks
from tests.property.calls import HOST, INSTANCES, NODE, PARTITION
from tests.unit.compute_agent import rig
from tests.unit.conductor.fakes import FakeClaims, FakeHosts, FakeScheduler
from tests.unit.conductor.ledger import Ledger
from tests.unit.scheduler_svc.fakes.workers import FakeTransportWorker, node_report

NOW_MS = 1_800_000_000_000  # the time of all stores, which stands still: nothing expires between two calls
# Not changed by what a call does: locks, clocks, and records of decisions, refused ones too.
NOT_DUMPED = frozenset(
    {"_lock", "_clock", "_timeouts", "_log", "_decision", "_decision_bytes", "_decisions", "_decided"}
)

Dump = dict[str, str]


@dataclass(frozen=True)
class FuzzedService:
    """A daemon's endpoints by topic, and what their calls may change.

    ``dump`` returns the stored state. ``settle`` does what an accepted call has queued; it raises what that raises.
    """

    endpoints: Mapping[str, Sequence[Any]]
    dump: Callable[[], Dump]
    settle: Callable[[], None] = lambda: None

    def methods(self) -> list[tuple[str, Any]]:
        """Return the exposed methods, each with its topic."""
        return [
            (topic, method)
            for topic, endpoints in self.endpoints.items()
            for endpoint in endpoints
            for name in dir(endpoint)
            if hasattr(method := getattr(endpoint, name), "exposed")
        ]


def attributes_of(state: Any) -> Dump:
    return {name: repr(value) for name, value in vars(state).items() if name not in NOT_DUMPED}


@contextmanager
def scheduler() -> Iterator[FuzzedService]:
    """A worker with one node, without background tasks."""
    servers: list[Any] = []
    stock = bus.StrictServer

    def server(*args: Any, **values: Any) -> Any:
        servers.append(stock(*args, **values))
        return servers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bus, "StrictServer", server)
        patch.setattr(tasks, "build", lambda *_: [])
        worker = FakeTransportWorker()
        worker.store._clock = lambda: NOW_MS
        worker.service.start()
    worker.join(HOST, {NODE: node_report()})
    endpoints = {server._target.topic: server.dispatcher.endpoints for server in servers}
    yield FuzzedService(endpoints, lambda: attributes_of(worker.store.state))
    worker.service.stop()
    worker.service.wait()


class Hosts(FakeHosts):
    """Agents that also answer what operators ask."""

    def list_guests(self, ctxt: Any, host: str, marker: str | None, limit: int) -> objects.GuestPage:
        return objects.GuestPage.of(uuids=[], attempts=[], names=[], states=[], marker=None)

    def audit(self, ctxt: Any, partition: str, epoch: int) -> None:
        self._cast("audit", partition, [])


@contextmanager
def conductor() -> Iterator[FuzzedService]:
    """A conductor without its loops: only calls change records."""
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    conductor_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    store = MemoryConductorStore(StoreTimeouts(), lambda: NOW_MS)
    service = ConductorService(conf, store)
    ledger = Ledger({NODE: 4}, lambda: NOW_MS)
    clients: Any = (FakeScheduler(ledger), Hosts(ledger, lambda report: None), lambda partition: FakeClaims(ledger))
    service._clients = ServiceClients(*clients, PARTITION)
    yield FuzzedService({"conductor": [service._endpoint()]}, lambda: attributes_of(store))
    service._transport.cleanup()


@contextmanager
def compute_agent(folder: Path) -> Iterator[FuzzedService]:
    """The agent of one host, with prepared claims of all instances there."""
    agent = rig.AgentRig(folder)
    host = agent.serve()
    for uuid in INSTANCES:
        for attempt in (1, 2):
            agent.ledger.prepare(uuid, attempt, NODE)

    def dump() -> Dump:
        assert agent.guest_manager is not None
        return {
            "attempts": repr(agent.guest_manager.journal.all()),
            "guests": repr(agent.guest_manager.hypervisor.list()),
            "queued": repr(agent.queue._jobs),
        }

    yield FuzzedService({"compute": [ComputeEndpoint(host, PARTITION, 100)]}, dump, agent.queue.settle)
    agent.stop()


@contextmanager
def all_services(folder: Path) -> Iterator[Mapping[str, FuzzedService]]:
    """All services by name, each alone: what it calls are doubles."""
    with scheduler() as first, conductor() as second, compute_agent(folder) as third:
        yield {"scheduler": first, "conductor": second, "compute": third}
