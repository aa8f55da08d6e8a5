# SPDX-License-Identifier: Apache-2.0
"""A host was renamed while it had guests: without a word its machine was offered a second time, whole.

Nova refuses to start then, since a compute node has the uuid of its state folder.
"""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.service import ComputeService
from rpcapi import conf as rpc_conf
from rpcapi import context, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.messaging import bus
from tests.support.agent.fakes import FakeClaims, FakeConductor, FakeScheduler
from tests.support.agent.served_peers import ServedPeers
from tests.support.clusters import truth

OLD, SIBLING, NEW = "machine", "sibling", "machine.example.org"


@pytest.fixture
def peers(conf: cfg.ConfigOpts, tmp_path: Path) -> Iterator[ServedPeers]:
    rpc_conf.register_opts(conf)
    compute_conf.register_opts(conf)
    conf.set_override("state_path", str(tmp_path / "state"), group="compute")
    conf.set_override("boot_delay", 0.01, group="simulator")
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    conf.set_override("control_exchange", uuid.uuid4().hex)  # all fake transports of a process share their exchanges
    conf.set_override("executor_thread_pool_size", 2)
    peers = ServedPeers(
        conf=conf, ledger=FakeClaims(), conductor=FakeConductor(), scheduler=FakeScheduler(), servers=[]
    ).start()
    yield peers
    peers.stop()


@pytest.fixture
def serve(peers: ServedPeers) -> Iterator[Callable[..., None]]:
    services: list[ComputeService] = []

    def stop() -> None:
        for service in services:
            service.stop()
            service.wait()
        services.clear()

    def start(*hosts: str) -> None:
        stop()
        peers.conf.set_override("hosts", list(hosts), group="compute")
        services.append(ComputeService(peers.conf))
        services[0].start()

    yield start
    stop()


def build(peers: ServedPeers, host: str) -> str:
    """Send a build to a host, and return the outcome that it reports."""
    server = str(uuid.uuid4())
    peers.ledger.prepare(server, 1, f"{host}/node0")
    request = objects.BuildRequest.of(
        spec=objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}),
        partition="default",
        project_id="p",
        user_id="u",
        uuids=[server],
        attempts=[1],
        names=[f"{host}/node0"],
    )
    ComputeAPI(peers.conf, peers.transport).build_instances(context.new(), host, request)
    return str(truth.until("the build has ended", lambda: peers.conductor.last((server, 1))))


def refusal(peers: ServedPeers, host: str) -> str:
    """Return why a host takes no new guests, by its last registration."""
    return next(
        report.refusal for name, report in reversed(peers.scheduler.reports) if name == host and report.register
    )


def test_renamed_host_takes_no_new_guests_while_it_has_some_under_its_former_name(
    peers: ServedPeers, serve: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    # given a process with two hosts, each with a guest, one of which is renamed
    serve(OLD, SIBLING)
    assert [build(peers, host) for host in (OLD, SIBLING)] == ["active"] * 2
    for _ in range(2):  # also if it is started again
        serve(NEW, SIBLING)
        # then it takes no guest, says what to do, and the other host is served as before
        assert f"start its agent as {OLD}, run 'gantt host drain {OLD}'" in refusal(peers, NEW)
        assert refusal(peers, NEW) in caplog.text
        assert build(peers, NEW) == "refused"
        assert (refusal(peers, SIBLING), build(peers, SIBLING)) == ("", "active")
    # when it is drained under its former name, and renamed again
    serve(OLD, SIBLING)
    assert refusal(peers, OLD) == ""
    live = [ref for ref in peers.ledger.live() if peers.ledger.names[ref].startswith(f"{OLD}/")]
    refs = objects.ClaimRefs.of(consumers=[ref[0] for ref in live], attempts=[ref[1] for ref in live])
    ComputeAPI(peers.conf, peers.transport).terminate_instances(context.new(), OLD, refs)
    truth.until("its guests are gone", lambda: all(peers.conductor.last(ref) == "gone" for ref in live))
    serve(NEW, SIBLING)
    # then it takes guests
    assert (refusal(peers, NEW), build(peers, NEW)) == ("", "active")
    # and the former name is a new one in its turn
    serve(OLD, SIBLING)
    assert f"start its agent as {NEW}" in refusal(peers, OLD)
