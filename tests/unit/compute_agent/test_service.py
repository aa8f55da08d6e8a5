# SPDX-License-Identifier: Apache-2.0
"""The whole service of one process on oslo.messaging's in-memory bus."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.service import ComputeService
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.daemon.waiting import ShutdownRequested
from rpcapi.messaging import bus
from tests.support.agent.fakes import FakeClaims, FakeConductor, FakeScheduler
from tests.support.agent.served_peers import ServedPeers

SPEC = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.01)


@pytest.fixture
def conf(conf: cfg.ConfigOpts, tmp_path: Path) -> cfg.ConfigOpts:
    rpc_conf.register_opts(conf)
    compute_conf.register_opts(conf)
    conf.set_override("state_path", str(tmp_path / "state"), group="compute")
    conf.set_override("hosts", ["alpha", "beta"], group="compute")
    conf.set_override("nodes_per_host", 2, group="compute")
    conf.set_override("call_timeout", 2.0, group="compute")
    conf.set_override("boot_delay", 0.01, group="simulator")
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    conf.set_override("control_exchange", uuid.uuid4().hex)  # all fake transports of a process share their exchanges
    conf.set_override("executor_thread_pool_size", 2)
    return conf


@pytest.fixture
def cloud(conf: cfg.ConfigOpts) -> Iterator[ServedPeers]:
    services = ServedPeers(
        conf=conf, ledger=FakeClaims(), conductor=FakeConductor(), scheduler=FakeScheduler(), servers=[]
    )
    yield services
    services.stop()


@pytest.fixture
def serve(conf: cfg.ConfigOpts) -> Iterator[Callable[[], ComputeService]]:
    services: list[ComputeService] = []

    def start() -> ComputeService:
        service = ComputeService(conf)
        services.append(service)
        service.start()
        return service

    yield start
    for service in services:
        service.stop()
        service.wait()


def request(*uuids: str, name: str = "alpha/node0") -> objects.BuildRequest:
    return objects.BuildRequest.of(
        spec=objects.RequestSpec.of(resources=SPEC),
        partition="default",
        project_id="p",
        user_id="u",
        uuids=list(uuids),
        attempts=[1] * len(uuids),
        names=[name] * len(uuids),
    )


def test_builds_and_terminates_over_the_bus(cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts) -> None:
    cloud.start()
    service = serve()
    compute = ComputeAPI(conf, cloud.transport)
    instances = [str(uuid.uuid4()) for _ in range(3)]
    for instance in instances:
        cloud.ledger.prepare(instance, 1, "alpha/node0")

    compute.build_instances(context.new(), "alpha", request(*instances))

    wait_until(lambda: all(cloud.conductor.last((instance, 1)) == "active" for instance in instances))
    assert set(cloud.ledger.live().values()) == {"confirmed"}
    assert sorted(cloud.scheduler.views) == ["alpha", "beta"]

    refs = objects.ClaimRefs.of(consumers=instances, attempts=[1, 1, 1])
    compute.terminate_instances(context.new(), "alpha", refs)

    wait_until(lambda: all(cloud.conductor.last((instance, 1)) == "gone" for instance in instances))
    assert cloud.ledger.live() == {}
    assert [host.guest_manager.hypervisor.list() for host in service._hosts] == [[], []]


def test_a_new_epoch_is_audited_by_every_host_at_once(cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts) -> None:
    cloud.start()
    serve()
    cloud.ledger.epoch = cloud.scheduler.epoch = 8

    ComputeAPI(conf, cloud.transport).audit(context.new(), "default", 8)

    wait_until(
        lambda: {(instance.host, instance.epoch) for instance in cloud.ledger.audits} >= {("alpha", 8), ("beta", 8)}
    )


def test_start_waits_for_unavailable_services(cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts) -> None:
    conf.set_override("call_timeout", 0.2, group="compute")
    starting = threading.Thread(target=serve, daemon=True)
    starting.start()
    starting.join(0.5)
    assert starting.is_alive()

    cloud.start()

    starting.join(20)
    assert not starting.is_alive()
    assert {report.host for report in cloud.ledger.audits} == {"alpha", "beta"}


def test_start_is_aborted_by_stop(conf: cfg.ConfigOpts) -> None:
    conf.set_override("call_timeout", 0.2, group="compute")
    service = ComputeService(conf)
    ended: list[type] = []

    def start() -> None:
        try:
            service.start()
        except ShutdownRequested as stopped:
            ended.append(type(stopped))

    starting = threading.Thread(target=start, daemon=True)
    starting.start()
    service.stop()
    starting.join(20)
    service.wait()
    assert ended == [ShutdownRequested]


def test_drained_agent_has_journalled_received_builds(cloud: ServedPeers, conf: cfg.ConfigOpts, serve: Any) -> None:
    cloud.start()
    service = ComputeService(conf)
    service.start()
    instances = [str(uuid.uuid4()) for _ in range(5)]
    for instance in instances:
        cloud.ledger.prepare(instance, 1, "alpha/node0")
    conf.set_override("boot_delay", 60.0, group="simulator")
    service.reset()
    ComputeAPI(conf, cloud.transport).build_instances(context.new(), "alpha", request(*instances))
    wait_until(lambda: bool(service._hosts[0].guest_manager.journal.live()))

    service.stop()
    service.wait()

    conf.set_override("boot_delay", 0.0, group="simulator")
    following = serve()
    guest_manager = following._hosts[0].guest_manager
    wait_until(lambda: len(guest_manager.hypervisor.list()) == 5)
    assert sorted(ref[0] for ref in cloud.ledger.live()) == sorted(instances)


def test_agent_waits_until_the_state_folder_is_released(cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts) -> None:
    cloud.start()
    first = ComputeService(conf)
    first.start()
    audits = len(cloud.ledger.audits)
    following = threading.Thread(target=serve, daemon=True)
    following.start()
    following.join(0.5)
    assert following.is_alive()
    assert len(cloud.ledger.audits) == audits

    first.stop()
    first.wait()

    following.join(20)
    assert not following.is_alive()
    assert len(cloud.ledger.audits) == audits + 2


def test_rejected_stats_abort_the_start(cloud: ServedPeers, conf: cfg.ConfigOpts) -> None:
    class Strict(FakeScheduler):
        @messaging.expose
        def update_resource_stats(self, ctxt: Any, name: str, stats: objects.StatsReport) -> objects.StatsAnswer:
            raise errors.InvalidStats(what="VCPU", why="it is too much")

    cloud.scheduler = Strict()
    cloud.start()
    service = ComputeService(conf)
    with pytest.raises(errors.BadConfiguration, match="it is too much"):
        service.start()
    service.stop()
    service.wait()


def test_restarted_agent_takes_over_its_guests(cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts) -> None:
    # given a host with a guest, and another host
    cloud.start()
    service = serve()
    compute = ComputeAPI(conf, cloud.transport)
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    for instance in (first, second):
        cloud.ledger.prepare(instance, 1, "alpha/node0")
    compute.build_instances(context.new(), "alpha", request(first))
    wait_until(lambda: cloud.conductor.last((first, 1)) == "active")
    alpha = service._hosts[0]
    first_host = alpha._host

    # when its agent restarts
    alpha._queue.submit(alpha.restart)
    wait_until(lambda: len({r.agent for name, r in cloud.scheduler.reports if name == "alpha"}) == 2)

    # then the new agent reports in full, audits the guests, and builds
    wait_until(lambda: [audit.consumers for audit in cloud.ledger.audits if audit.host == "alpha"][1:] == [[first]])
    last = [report for name, report in cloud.scheduler.reports if name == "alpha"][-1]
    assert (last.full, last.sequence) == (True, 1)
    compute.build_instances(context.new(), "alpha", request(second))
    wait_until(lambda: cloud.conductor.last((second, 1)) == "active")
    assert {guest.uuid for guest in alpha.guest_manager.hypervisor.list()} == {first, second}
    assert cloud.conductor.outcomes[(first, 1)] == ["active"]
    assert alpha._host is not first_host
    # and the other host is not affected
    assert len({r.agent for name, r in cloud.scheduler.reports if name == "beta"}) == 1


def test_hosts_restart_and_fall_silent_at_configured_rates(
    cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts
) -> None:
    conf.set_override("report_interval", 0.2, group="compute")
    conf.set_override("restart_rate", 0.5, group="simulator")
    conf.set_override("silence_rate", 0.2, group="simulator")
    conf.set_override("silence_time", 0.1, group="simulator")
    cloud.start()
    serve()

    def incarnations(host: str) -> set[int]:
        return {report.incarnation for name, report in list(cloud.scheduler.reports) if name == host}

    wait_until(lambda: all(len(incarnations(host)) >= 3 for host in ("alpha", "beta")))


def test_failed_restart_is_retried_without_affecting_other_hosts(
    cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf.set_override("retry_interval_max", 0.1, group="compute")
    cloud.start()
    alpha = serve()._hosts[0]
    journal = alpha._shared.folder / "alpha" / "journal"
    good = journal.read_bytes()
    journal.write_bytes(b"00000000 {}\nx\n")
    opened = threading.Semaphore(0)
    begin = alpha.open
    monkeypatch.setattr(alpha, "open", lambda: (opened.release(), begin()))

    alpha._queue.submit(alpha.restart)
    assert all(opened.acquire(timeout=20) for _ in range(2))
    audits = len(cloud.ledger.audits)
    journal.write_bytes(good)

    wait_until(lambda: len(cloud.ledger.audits) > audits)
    assert cloud.ledger.audits[-1].host == "alpha"


def test_hundreds_of_hosts_share_a_few_threads(cloud: ServedPeers, serve: Any, conf: cfg.ConfigOpts) -> None:
    # given 200 service hosts of 50 nodes, reporting often
    conf.set_override("hosts", ["host[000-199]"], group="compute")
    conf.set_override("nodes_per_host", 50, group="compute")
    conf.set_override("report_interval", 0.5, group="compute")
    conf.set_override("threads", 8, group="compute")
    cloud.start()
    before = threading.active_count()

    serve()
    wait_until(lambda: len(cloud.scheduler.reports) >= 300)

    # then their work runs on 8 + 2 threads and two timer threads; the bus has one listener per server
    ours = [thread.name for thread in threading.enumerate() if thread.name.startswith(("host ", "report "))]
    assert len(ours) <= 8 + 2 + 2
    assert threading.active_count() - before <= 200 * 2 + 40
    assert sum(len(nodes) for nodes in cloud.scheduler.views.values()) == 10_000
