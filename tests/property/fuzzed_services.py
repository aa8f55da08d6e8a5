# SPDX-License-Identifier: Apache-2.0
"""The endpoints of all services in this process, on stores in memory or in Redis that only their calls change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from oslo_config import cfg

from compute_agent.endpoints.compute import ComputeEndpoint
from conductor import conf as conductor_conf
from conductor.collaborators import ServiceClients
from conductor.service import ConductorService, make_endpoints
from conductor.store import keys
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from conductor.store.redis import RedisConductorStore
from rpcapi import conf as rpc_conf
from rpcapi import objects
from rpcapi.messaging import bus
from scheduler_svc.composition import tasks
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.property.calls import HOST, INSTANCES, NODE, PARTITION
from tests.support.agent import rig
from tests.support.conductor.fake_hosts import FakeHosts
from tests.support.conductor.fakes import FakeClaims, FakeScheduler
from tests.support.conductor.ledger import Ledger
from tests.support.scheduler.workers import FakeTransportWorker, node_report

NOW_MS = 1_800_000_000_000  # the time of all stores, which stands still: nothing expires between two calls
# Not changed by what a call does: locks, clocks, and records of decisions, refused ones too.
NOT_DUMPED = frozenset(
    {"_lock", "_clock", "_timeouts", "_log", "_decision", "_decision_bytes", "_decisions", "_decided"}
)

# As NOT_DUMPED, the last words of keys in Redis, and the fields of `meta` that are dumped.
KEYS_NOT_DUMPED = frozenset({"decisions", "decided", "acknowledged"})
META = ("schema", "epoch", "position", "sequence", "vocabulary")
READERS = {
    "hash": lambda client, key: client.hgetall(key),
    "zset": lambda client, key: client.zrange(key, 0, -1, withscores=True),
    "set": lambda client, key: client.smembers(key),
    "stream": lambda client, key: client.xlen(key),
    "string": lambda client, key: client.get(key),
}

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


def keys_of(client: Any, beginning: str) -> Dump:
    """Return what is stored under all keys with that beginning, in any order."""
    dump = {}
    for key in sorted(client.scan_iter(match=beginning.replace("{", "[{]").replace("}", "[}]") + "*", count=1000)):
        word = key.removeprefix(beginning)
        if word not in KEYS_NOT_DUMPED:
            value = READERS[client.type(key)](client, key)
            value = {name: value.get(name) for name in META} if word == "meta" else value
            dump[key] = repr(sorted(value.items() if isinstance(value, dict) else value) if word != "log" else value)
    return dump


class RedisWorker(FakeTransportWorker):
    """A worker whose store is in Redis, where time stands still."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.stores = {PARTITION: RedisStore(url, PARTITION, namespaces=["aggregate"], max_step_ms=0)}
        self.store = self.stores[PARTITION]

    def join(self, host: str, nodes: dict[str, Any]) -> None:
        answer = self.report(host, nodes)
        self.audit(host, answer.epoch)
        replica = self.service._worker.scheduling.partitions.own.replica
        assert replica.reach(self.store.snapshot().position, 10)


@contextmanager
def scheduler(url: str | None = None) -> Iterator[FuzzedService]:
    """A worker with one node, without background tasks; its store is in Redis at ``url``, or in memory."""
    servers: list[Any] = []
    stock = bus.StrictServer

    def server(*args: Any, **values: Any) -> Any:
        servers.append(stock(*args, **values))
        return servers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bus, "StrictServer", server)
        patch.setattr(tasks, "build", lambda *_: [])
        worker = RedisWorker(url) if url else FakeTransportWorker()
        worker.store._clock = lambda: NOW_MS
        worker.service.start()
    try:
        worker.join(HOST, {NODE: node_report()})
        endpoints = {server._target.topic: server.dispatcher.endpoints for server in servers}
        if url:
            client = redis.Redis.from_url(url, decode_responses=True)
            yield FuzzedService(endpoints, lambda: keys_of(client, prefix(PARTITION)))
        else:
            yield FuzzedService(endpoints, lambda: attributes_of(worker.store.state))
    finally:  # a server that stays would answer calls of later tests
        worker.service.stop()
        worker.service.wait()


class Hosts(FakeHosts):
    """Agents that also answer what operators ask."""

    def list_guests(self, ctxt: Any, host: str, marker: str | None, limit: int) -> objects.GuestPage:
        return objects.GuestPage.of(uuids=[], attempts=[], names=[], states=[], marker=None)

    def list_owners(self, ctxt: Any, host: str, uuids: list[str]) -> objects.GuestOwners:
        return objects.GuestOwners.of(uuids=[], attempts=[], names=[], owners=[])

    def audit(self, ctxt: Any, partition: str, epoch: int) -> None:
        self._cast("audit", partition, [])


@contextmanager
def conductor(url: str | None = None) -> Iterator[FuzzedService]:
    """A conductor without its loops: only calls change records, in Redis at ``url`` or in memory."""
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    conductor_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    store: Any = (
        RedisConductorStore(url, StoreTimeouts(max_step_ms=0))
        if url
        else MemoryConductorStore(StoreTimeouts(), lambda: NOW_MS)
    )
    service = ConductorService(conf, store)
    ledger = Ledger({NODE: 4}, lambda: NOW_MS)
    clients: Any = (FakeScheduler(ledger), Hosts(ledger, lambda report: None), lambda partition: FakeClaims(ledger))
    service._conductor.clients = ServiceClients(*clients, PARTITION)
    endpoints = make_endpoints(service._conductor, service._reconciler)
    store.ping()  # a store in Redis is made at its first use: not by a call that is refused
    if url:
        client = redis.Redis.from_url(url, decode_responses=True)
        yield FuzzedService({"conductor": endpoints}, lambda: keys_of(client, keys.PREFIX))
    else:
        yield FuzzedService({"conductor": endpoints}, lambda: attributes_of(store))
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
def all_services(folder: Path, url: str | None = None) -> Iterator[Mapping[str, FuzzedService]]:
    """All services by name, each alone: what it calls are fakes. Stores are in Redis at ``url``, or in memory."""
    with scheduler(url) as first, conductor(url) as second, compute_agent(folder) as third:
        yield {"scheduler": first, "conductor": second, "compute": third}
