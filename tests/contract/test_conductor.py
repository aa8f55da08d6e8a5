# SPDX-License-Identifier: Apache-2.0
"""The whole conductor in one process, on oslo.messaging's in-memory bus, with fakes of its peers."""

import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.saga.step_context import SagaLimits
from conductor.service import ConductorService
from conductor.store import keys
from conductor.store.interface import ConductorStore
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from conductor.store.redis import RedisConductorStore
from conductor.store.steady_clock import steady_clock
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.clients.claims import topic
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.endpoint import expose
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from tests.support import next_release
from tests.support.conductor.fake_hosts import FakeHosts
from tests.support.conductor.fakes import FakeClaims, FakeScheduler
from tests.support.conductor.ledger import PARTITION, Ledger
from tests.support.conductor.polling import until
from tests.support.conductor.simulated_cluster import SPEC, uuid_list

CTXT = context.new("project", "user")


def serve(fake: Any, *methods: str, version: str) -> Any:
    """Return an endpoint that forwards its calls to a fake, one at a time."""
    lock = threading.Lock()

    def method(name: str) -> Callable[..., Any]:
        def call(self: Any, ctxt: Any, **values: Any) -> Any:
            with lock:
                return getattr(fake, name)(ctxt, **values)

        call.__name__ = name
        return expose(call)

    # What ``exposed`` checks is how the fake's own method may be called; that is its own affair here.
    return type(
        "FakeService", (), {"target": messaging.Target(version=version)} | {name: method(name) for name in methods}
    )()


class ServedConductor:
    """One conductor on the bus, with fakes of the services that it calls."""

    def __init__(self, conf: cfg.ConfigOpts, store: ConductorStore) -> None:
        self.conf = conf
        self.audits: list[tuple[str, int]] = []
        self.heartbeats: list[tuple[str, str]] = []
        self.transport = bus.get_transport(conf)
        self.ledger = Ledger({"h1/n": 4, "h2/n": 4}, steady_clock)
        self.scheduler = FakeScheduler(self.ledger)
        self.api = ConductorAPI(conf, self.transport)
        self.hosts = FakeHosts(self.ledger, lambda report: self.api.report_builds(CTXT, report))
        self.store = store
        self.service = ConductorService(conf, store)
        self.servers: list[Any] = []

    def start(self) -> None:
        self.scheduler.report_service = self._note_heartbeat  # type: ignore[attr-defined]
        self._listen("scheduler", "w1", self.scheduler, "select_destinations", "report_service", "exchange_stamps")
        self._listen(topic(PARTITION), "w1", FakeClaims(self.ledger), "prepare_claims", "abort_claims", "list_claims")
        for host in ("h1", "h2"):
            self._listen("compute", host, _Agent(host, self), "build_instances", "terminate_instances", "audit")
        self.service.start()

    def _note_heartbeat(self, _ctxt: object, binary: str, host: str, versions: dict[str, str], partition: str) -> None:
        assert versions and partition == PARTITION
        self.heartbeats.append((binary, host))

    def _listen(self, on: str, server: str, fake: Any, *methods: str) -> None:
        endpoint = serve(fake, *methods, version="1.11")
        target = messaging.Target(topic=on, server=server)
        created = bus.get_server(self.transport, target, [endpoint], GanttSerializer())
        created.start()
        self.servers.append(created)

    def stop(self) -> None:
        self.service.stop()
        self.service.wait()
        for server in self.servers:
            server.stop()
            server.wait()

    def statuses(self, uuids: list[str]) -> list[str]:
        return [record.status for record in self.api.get_instances(CTXT, uuids).instances]


class _Agent:
    """One host of ``Hosts`` with its own RPC server."""

    def __init__(self, host: str, cluster: ServedConductor) -> None:
        self._host = host
        self._cluster = cluster

    def build_instances(self, ctxt: Any, request: objects.BuildRequest) -> None:
        self._cluster.hosts.build_instances(ctxt, self._host, request)
        self._deliver()

    def terminate_instances(self, ctxt: Any, refs: objects.ClaimRefs) -> None:
        self._cluster.hosts.terminate_instances(ctxt, self._host, refs)
        self._deliver()

    def audit(self, ctxt: Any, partition: str, epoch: int) -> None:
        self._cluster.audits.append((partition, epoch))

    def _deliver(self) -> None:
        while self._cluster.hosts.deliver():
            pass


def start_cluster(store: ConductorStore | None = None) -> ServedConductor:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    conductor_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    # All buses of this kind in a process are one: an exchange of its own keeps a cluster to itself.
    conf.set_override("control_exchange", str(uuid.uuid4()))
    conf.set_override("host", "c1", group="conductor")
    conf.set_override("partition", PARTITION, group="rpc")
    conf.set_override("pump_interval", 0.05, group="conductor")
    created = ServedConductor(conf, store or MemoryConductorStore(StoreTimeouts()))
    created.start()
    return created


@pytest.fixture(scope="module")
def shared() -> Iterator[ServedConductor]:
    """A shared cluster for tests that restore its state; each test uses its own instances."""
    created = start_cluster()
    yield created
    created.stop()


@pytest.fixture
def cluster() -> Iterator[ServedConductor]:
    created = start_cluster()
    yield created
    created.stop()


@pytest.fixture(params=["memory", "redis"])
def stored(request: pytest.FixtureRequest) -> Iterator[ServedConductor]:
    """A cluster on each kind of store."""
    if request.param == "memory":
        yield request.getfixturevalue("cluster")
        return
    server = request.getfixturevalue("redis_server")
    with server.client() as client:
        client.delete(*keys.ALL)
        created = start_cluster(RedisConductorStore(server.url()))
        yield created
        created.stop()
        client.delete(*keys.ALL)


def fresh(count: int) -> list[str]:
    return [str(uuid.uuid4()) for _ in range(count)]


def test_boot_list_and_delete(stored: ServedConductor) -> None:
    uuids = uuid_list(5)
    stored.hosts.behaviours[(uuids[0], 1)] = "failed"
    stored.api.build_instances(CTXT, SPEC, uuids)
    until(lambda: set(stored.statuses(uuids)) == {"ACTIVE"}, "all are active")
    first = stored.api.list_instances(CTXT, limit=2)
    second = stored.api.list_instances(CTXT, marker=first.marker)
    assert [record.uuid for record in [*first.instances, *second.instances]] == uuids
    assert first.instances[0].history[0]["outcome"] == "failed"
    assert second.marker is None

    stored.api.delete_instances(CTXT, uuids)
    until(lambda: set(stored.statuses(uuids)) == {"DELETED"}, "all are deleted")
    assert stored.ledger.live() == {}
    assert stored.api.list_instances(CTXT).instances == []
    assert len(stored.api.list_instances(CTXT, deleted=True).instances) == 5


def test_errors_are_typed(shared: ServedConductor) -> None:
    leases = fresh(1)
    with pytest.raises(errors.InvalidCount):
        shared.api.build_instances(CTXT, SPEC, [])
    with pytest.raises(errors.UnknownInstance):
        shared.api.get_instances(CTXT, fresh(1))
    with pytest.raises(errors.UnknownInstance):
        shared.api.delete_instances(CTXT, fresh(1))
    shared.api.build_instances(CTXT, SPEC, leases)
    with pytest.raises(errors.InstanceConflict):
        shared.api.build_instances(context.new("other", "user"), SPEC, leases)
    # Its host's report must not be left without an answer.
    until(lambda: shared.statuses(leases) == ["ACTIVE"], "it is active")


def test_older_peer_gets_backported_object(shared: ServedConductor) -> None:
    with next_release.registered() as later:
        primitive = later.of(resources={"VCPU": 1}, priority=7).obj_to_primitive()
        older = shared.api.object_backport_versions(CTXT, primitive, {"RequestSpec": next_release.PRESENT})
    # This very test knows the priority, so its serializer has read the older form and filled in what that lacks.
    assert older.resources == {"VCPU": 1}
    assert older.priority == 0


def test_audits_reach_every_host(shared: ServedConductor) -> None:
    shared.api.audit_hosts(CTXT, PARTITION, 7)
    until(lambda: len(shared.audits) == 2, "both hosts are asked to audit")
    assert set(shared.audits) == {(PARTITION, 7)}


def test_conductor_sends_heartbeats_to_the_scheduler(shared: ServedConductor) -> None:
    until(lambda: shared.heartbeats, "a heartbeat is sent")
    assert shared.heartbeats[0] == ("gantt-conductor", "c1")


def test_reload_changes_limits(cluster: ServedConductor) -> None:
    cluster.conf.set_override("max_attempts", 1, group="conductor")
    cluster.service.reset()
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours[(uuid, 1)] = "failed"
    cluster.api.build_instances(CTXT, SPEC, [uuid])
    until(lambda: cluster.statuses([uuid]) == ["ERROR"], "it is given up")
    (instance,) = cluster.api.get_instances(CTXT, [uuid]).instances
    assert instance.reason.startswith("All 1 attempts are used")


def test_stop_releases_leases_of_unfinished_work(cluster: ServedConductor) -> None:
    """Given a running step, when the conductor stops, then the step is recorded and the lease is released."""
    (uuid,) = uuid_list(1)
    inside, go = threading.Event(), threading.Event()
    select = cluster.scheduler.select_destinations

    def slow(*args: Any, **values: Any) -> Any:
        inside.set()
        assert go.wait(20)
        return select(*args, **values)

    cluster.scheduler.select_destinations = slow  # type: ignore[method-assign]
    cluster.api.build_instances(CTXT, SPEC, [uuid])
    assert inside.wait(20)
    cluster.service.stop()
    go.set()
    cluster.service.wait()
    store = cluster.store
    assert store.get([uuid])[uuid].status == "BUILDING"
    assert [lease.is_takeover for lease in store.take("another", 1)] == [False]


def test_limits_follow_the_configuration(cluster: ServedConductor) -> None:
    defaults = {"max_attempts": 2, "build_timeout": 7.5, "recast_interval": 1.5, "select_timeout": 8.5, "lease": 12.0}
    for name, value in defaults.items():
        cluster.conf.set_override(name, value, group="conductor")
    cluster.service.reset()
    assert cluster.service._saga.limits == SagaLimits(
        max_attempts=2, build_timeout_ms=7500, recast_ms=1500, select_timeout_ms=8500, call_s=8.0
    )


def test_default_limits_equal_those_of_saga_tests(shared: ServedConductor) -> None:
    limits = shared.service._saga.limits
    assert replace(limits, call_s=0) == SagaLimits(call_s=0)
    assert limits.call_s == 20.0
