# SPDX-License-Identifier: Apache-2.0
"""The life of one host's agent: start, restart and shutdown, with manual queues and fakes of the services."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent import metrics
from compute_agent.attempts.calls import IdentityRefused, ServiceCalls
from compute_agent.resources.nodes import HostPlan
from compute_agent.runtime.schedules import AgentIntervals
from compute_agent.runtime.supervisor import HostSupervisor, SharedContext
from compute_agent.simulator.profile import HostProfile
from rpcapi import conf as rpc_conf
from rpcapi import context, errors
from rpcapi.daemon.waiting import ShutdownRequested
from tests.support.agent.fakes import FakeClaims, FakeConductor, FakeScheduler
from tests.support.agent.rig import HOST, NODES, AgentRig, ManualClock, ManualQueue


class QueuePool:
    """A pool whose queues all run on request."""

    def __init__(self) -> None:
        self.queues: list[ManualQueue] = []

    def new_queue(self) -> ManualQueue:
        self.queues.append(ManualQueue(ManualClock()))
        return self.queues[-1]

    def run(self) -> None:
        for queue in list(self.queues):
            queue.run()


def unserved() -> dict[str, float]:
    return {reason: metrics.UNSERVED_HOSTS.labels(reason)._value.get() for reason in ("identity", "renamed")}


class Site(SimpleNamespace):
    """The services, and what the supervisor did with its servers."""

    def make_server(self, host: Any) -> Any:
        number = len([event for event in self.events if event == "start"])
        return SimpleNamespace(
            start=lambda: self.events.append("start"),
            stop=lambda: self.events.append("stop"),
            wait=lambda: self.events.append("wait"),
            number=number,
        )

    def registrations(self) -> list[str]:
        return [report.agent for _, report in self.scheduler.reports if report.register]


@pytest.fixture
def site(conf: cfg.ConfigOpts, tmp_path: Path) -> Site:
    rpc_conf.register_opts(conf)
    compute_conf.register_opts(conf)
    metrics.UNSERVED_HOSTS.clear()  # agents of other tests in this process have set it
    return Site(
        conf=conf,
        folder=tmp_path,
        check_folder=lambda: None,
        scheduler=FakeScheduler(),
        claims=FakeClaims(),
        conductor=FakeConductor(),
        calls=ServiceCalls(5.0),
        abandoned={},
        queue_pool=QueuePool(),
        report_queue_pool=QueuePool(),
        profile=HostProfile,
        intervals=lambda: AgentIntervals(retry_max=3.0),
        stopping=threading.Event(),
        events=[],
    )


@pytest.fixture
def supervise(site: Site) -> Iterator[Callable[[], HostSupervisor]]:
    created: list[HostSupervisor] = []
    names = SharedContext.__slots__

    def make() -> HostSupervisor:
        shared = SharedContext(**{name: getattr(site, name) for name in names})
        created.append(HostSupervisor(HostPlan(HOST, NODES), shared))
        return created[-1]

    yield make
    for supervisor in created:
        supervisor.close()


def build(site: Site, supervisor: HostSupervisor, uuid: str) -> None:
    intent = AgentRig(site.folder).intent(uuid, prepared=False)
    site.claims.prepare(uuid, 1, intent.name)
    supervisor._host.build(context.new("p", "u"), [intent], None)  # type: ignore[union-attr,arg-type]


def test_host_registers_and_audits_before_it_serves(site: Site, supervise: Callable[[], HostSupervisor]) -> None:
    supervisor = supervise()
    supervisor.open()
    assert (site.scheduler.reports, site.claims.audits, site.events) == ([], [], [])
    supervisor.join()
    assert sorted(site.scheduler.views) == [HOST]
    assert [audit.host for audit in site.claims.audits] == [HOST]
    assert site.events == ["start"]


def test_stop_before_the_host_joined_aborts_its_start(site: Site, supervise: Callable[[], HostSupervisor]) -> None:
    supervisor = supervise()
    supervisor.open()
    site.scheduler.lose = ["call"] * 100
    site.stopping.set()
    with pytest.raises(ShutdownRequested):
        supervisor.join()
    assert site.events == []


def test_stop_while_the_host_joins_ends_its_server_again(
    site: Site, supervise: Callable[[], HostSupervisor], monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = supervise()
    supervisor.open()
    audit_host = site.claims.audit_host

    def audit_then_stop(ctxt: Any, report: Any) -> Any:
        answer = audit_host(ctxt, report)
        site.stopping.set()
        return answer

    monkeypatch.setattr(site.claims, "audit_host", audit_then_stop)
    supervisor.join()
    site.queue_pool.run()
    assert site.events == ["start", "stop", "wait"]


def test_leaving_stops_the_server_once(site: Site, supervise: Callable[[], HostSupervisor]) -> None:
    supervisor = supervise()
    supervisor.open()
    supervisor.join()
    for _ in range(2):
        supervisor.leave()
    assert site.events == ["start"]
    site.queue_pool.run()
    assert site.events == ["start", "stop", "wait"]


def test_unusable_state_names_the_host(site: Site, supervise: Callable[[], HostSupervisor]) -> None:
    (site.folder / HOST).mkdir()
    (site.folder / HOST / "journal").write_bytes(b"00000000 {}\nx\n")
    with pytest.raises(errors.BadConfiguration, match=f"the state of host {HOST} is unusable: "):
        supervise().open()


def test_restart_replaces_the_agent_and_drops_its_queued_jobs(
    site: Site, supervise: Callable[[], HostSupervisor]
) -> None:
    supervisor = supervise()
    supervisor.open()
    supervisor.join()
    site.queue_pool.run()
    first = supervisor.guest_manager
    build(site, supervisor, "a")
    site.queue_pool.run()
    build(site, supervisor, "b")  # queued, and lost with its agent

    supervisor.restart()
    site.queue_pool.run()

    assert site.events == ["start", "stop", "wait", "start"]
    assert supervisor.guest_manager is not first
    assert len(site.registrations()) == len(set(site.registrations())) == 2
    assert [audit.consumers for audit in site.claims.audits] == [[], ["a"]]
    assert [attempt.uuid for attempt in supervisor.guest_manager.journal.live()] == ["a"]


def test_failed_restart_is_tried_again_after_the_longest_pause(
    site: Site, supervise: Callable[[], HostSupervisor], caplog: pytest.LogCaptureFixture
) -> None:
    supervisor = supervise()
    supervisor.open()
    supervisor.join()
    journal = site.folder / HOST / "journal"
    good = journal.read_bytes()
    journal.write_bytes(b"00000000 {}\nx\n")

    supervisor.restart()

    assert "retrying in 3 s" in caplog.text
    (queue,) = [queue for queue in site.queue_pool.queues if queue.waiting()]
    before = queue._clock.now
    journal.write_bytes(good)
    queue.fire()
    assert queue._clock.now == before + 3000
    assert site.events == ["start", "stop", "wait", "start"]


def test_restart_during_the_stop_is_not_tried_again(site: Site, supervise: Callable[[], HostSupervisor]) -> None:
    supervisor = supervise()
    supervisor.open()
    supervisor.join()
    site.scheduler.lose = ["call"] * 100
    site.stopping.set()
    supervisor.restart()
    assert [queue.waiting() for queue in site.queue_pool.queues if queue.waiting()] == []
    assert site.events == ["start", "stop", "wait"]


def test_refused_host_runs_no_server_and_registers_again_later(
    site: Site, supervise: Callable[[], HostSupervisor], caplog: pytest.LogCaptureFixture
) -> None:
    site.scheduler.owners[HOST] = "another folder"
    supervisor = supervise()
    supervisor.open()
    with pytest.raises(IdentityRefused):
        supervisor.join()
    assert (site.events, site.claims.calls, site.claims.audits) == ([], [], [])
    assert unserved() == {"identity": 1, "renamed": 0}
    supervisor.retry_after(IdentityRefused("refused"))
    (queue,) = [queue for queue in site.queue_pool.queues if queue.waiting()]
    queue.fire()
    assert "is not served: update_resource_stats was refused: " in caplog.text
    # when an operator has replaced the former machine
    site.scheduler.owners.clear()
    queue.fire()
    assert site.events == ["start"]
    assert unserved() == {"identity": 0, "renamed": 0}


def test_agent_that_is_replaced_while_it_runs_stops_serving(
    site: Site, supervise: Callable[[], HostSupervisor]
) -> None:
    supervisor = supervise()
    supervisor.open()
    supervisor.join()
    site.scheduler.owners[HOST] = "another folder"
    site.scheduler.supersede(HOST)
    supervisor._host.reports._report()  # type: ignore[union-attr]
    site.queue_pool.run()
    assert site.events == ["start", "stop", "wait"]
    assert len(site.claims.audits) == 1
    assert unserved() == {"identity": 1, "renamed": 0}


def test_renamed_host_takes_no_guests_while_the_former_one_has_some(
    site: Site, supervise: Callable[[], HostSupervisor], caplog: pytest.LogCaptureFixture
) -> None:
    site.abandoned = {"former": 2}
    for _start in range(2):  # it stays so when it is started again
        supervisor = supervise()
        supervisor.open()
        supervisor.join()
        assert unserved()["renamed"] == 1
        registration = site.scheduler.reports[-1][1]
        assert not registration.served and "start its agent as former" in registration.refusal
        assert registration.refusal in caplog.text
        build(site, supervisor, f"a{_start}")
        site.queue_pool.run()
        assert (site.claims.live(), supervisor.guest_manager.hypervisor.list()) == ({}, [])
        outcome = site.conductor.reports[-1]
        assert (list(outcome.outcomes), list(outcome.reasons)) == (["refused"], [registration.refusal])
        metrics.UNSERVED_HOSTS.clear()  # as at the end of a process
    # when the former host has none any more
    site.abandoned = {}
    supervisor = supervise()
    supervisor.open()
    supervisor.join()
    assert site.scheduler.reports[-1][1].refusal == ""
    build(site, supervisor, "b")
    site.queue_pool.run()
    assert site.claims.live() == {("b", 1): "confirmed"}


def test_host_that_was_served_before_is_no_renamed_one(site: Site, supervise: Callable[[], HostSupervisor]) -> None:
    for abandoned in ({}, {"sibling": 2}):
        site.abandoned = abandoned
        supervisor = supervise()
        supervisor.open()
        supervisor.join()
        assert site.scheduler.reports[-1][1].refusal == ""
    assert [report.served for _, report in site.scheduler.reports if report.register] == [False, True]
