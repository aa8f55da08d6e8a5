# SPDX-License-Identifier: Apache-2.0
"""Version caps: numbers, and ``auto``."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import oslo_messaging as messaging
import pytest

from rpcapi import conf as rpc_conf
from rpcapi import context, errors
from rpcapi.clients import version_caps
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.clients.version_caps import ANSWER_S, REFRESH_S, RETRY_S, OldestVersions
from rpcapi.endpoint import expose
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer


class Services:
    """What a scheduler answers, and how often it was asked; ``error`` is raised instead."""

    def __init__(self, versions):
        self.versions = versions
        self.error = None
        self.answered = threading.Semaphore(0)
        self.waits = []

    def fetch(self, wait_s):
        self.waits.append(wait_s)
        try:
            if self.error:
                raise self.error
            return dict(self.versions)
        finally:
            self.answered.release()


@pytest.fixture
def clock():
    return [0.0]


def oldest_of(services, clock):
    return OldestVersions(services.fetch, lambda: clock[0])


@pytest.mark.parametrize(
    ("versions", "cap"),
    [({"compute": "1.3"}, "1.3"), ({"compute": None}, "1.1"), ({}, None), ({"conductor": "1.2"}, None)],
)
def test_cap_is_the_oldest_living_services(clock, versions, cap):
    assert oldest_of(Services(versions), clock).cap("compute", "1.1") == cap


@pytest.mark.parametrize(("wait_s", "waited_s"), [(0.25, 0.25), (60.0, ANSWER_S)])
def test_first_caller_waits_no_longer_than_it_wants_to(clock, wait_s, waited_s):
    services = Services({"compute": "1.3"})
    oldest_of(services, clock).cap("compute", "1.1", wait_s)
    assert services.waits == [waited_s]


def test_callers_wait_for_the_first_answer_to_another(clock):
    request, answer = threading.Event(), threading.Event()

    def fetch(wait_s):
        request.set()
        assert answer.wait(60)
        return {"compute": "1.3"}

    oldest = OldestVersions(fetch, lambda: clock[0])
    with ThreadPoolExecutor(2) as executor:
        first = executor.submit(oldest.cap, "compute", "1.1")
        assert request.wait(60)
        assert oldest.cap("compute", "1.1", wait_s=0.01) == "1.1", "not longer than it wants to"
        second = executor.submit(oldest.cap, "compute", "1.1")
        answer.set()
        assert (first.result(60), second.result(60)) == ("1.3", "1.3")


def test_versions_are_refreshed_in_the_background(clock):
    services = Services({"compute": "1.3"})
    oldest = oldest_of(services, clock)
    assert oldest.cap("compute", "1.1") == "1.3"
    services.versions = {"compute": "1.4"}
    assert oldest.cap("compute", "1.1") == "1.3"
    assert services.answered.acquire(blocking=False) and not services.answered.acquire(blocking=False)
    clock[0] += REFRESH_S
    assert oldest.cap("compute", "1.1") in ("1.3", "1.4"), "nobody waits"
    assert services.answered.acquire(timeout=60)
    oldest.refresh()  # waits for the thread
    assert oldest.cap("compute", "1.1") == "1.4"


def test_reset_refreshes_before_the_time(clock):
    services = Services({"compute": "1.3"})
    oldest = oldest_of(services, clock)
    oldest.cap("compute", "1.1")
    services.answered.acquire()
    oldest.reset()
    oldest.cap("compute", "1.1")
    assert services.answered.acquire(timeout=60)


@pytest.mark.parametrize("error", [messaging.MessagingTimeout("late"), errors.Unavailable(what="bus", why="down")])
def test_without_an_answer_the_last_one_stays_and_without_any_the_oldest_release_counts(clock, error):
    services = Services({"compute": "1.3"})
    services.error = error
    oldest = oldest_of(services, clock)
    assert oldest.cap("compute", "1.1") == "1.1"
    services.error = None
    oldest.refresh()
    services.error = error
    oldest.refresh()
    assert oldest.cap("compute", "1.1") == "1.3"


def test_failure_is_retried_soon_and_nobody_waits_for_it(clock):
    services = Services({"compute": "1.3"})
    services.error = messaging.MessagingTimeout("late")
    oldest = oldest_of(services, clock)
    assert oldest.cap("compute", "1.1") == "1.1"
    assert services.answered.acquire(blocking=False)
    services.error = None
    assert oldest.cap("compute", "1.1") == "1.1"
    assert not services.answered.acquire(blocking=False), "not at once"
    clock[0] += RETRY_S
    oldest.cap("compute", "1.1")
    assert services.answered.acquire(timeout=60)
    oldest.refresh()  # waits for the thread
    assert oldest.cap("compute", "1.1") == "1.3"


# -- on a bus --------------------------------------------------------------------------------------------------


class NewerScheduler:
    target = messaging.Target(version="1.0")

    @expose
    def get_oldest_versions(self, ctxt):
        return {"conductor": "0.9", "scheduler": "1.0"}


@pytest.fixture
def auto(conf) -> Iterator[tuple]:
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 0.1, group="rpc")
    for topic in ("conductor", "compute"):
        conf.set_override(topic, "auto", group="upgrade_levels")
    transport = bus.get_transport(conf, "fake://")
    conf.set_override("control_exchange", "version-caps")  # other suites have servers in this process
    yield conf, transport
    transport.cleanup()


@pytest.fixture
def serve(auto):
    servers = []

    def start(endpoint):
        target = messaging.Target(topic="scheduler", server="s")
        servers.append(bus.get_server(auto[1], target, [endpoint], GanttSerializer(), executor="threading"))
        servers[-1].start()

    yield start
    for server in servers:
        server.stop()
        server.wait()


def test_clients_of_a_transport_ask_a_scheduler(auto, serve, monkeypatch):
    serve(NewerScheduler())
    conductor = ConductorAPI(*auto)
    assert conductor._version_cap() == {"version_cap": "0.9"}
    with pytest.raises(messaging.RPCVersionCapError):
        conductor.audit_hosts(context.new(), "default", 1)
    assert ComputeAPI(*auto)._version_cap() == {}, "no agent is alive"
    monkeypatch.setattr(NewerScheduler, "get_oldest_versions", expose(lambda self, ctxt: {"conductor": "1.1"}))
    version_caps.refresh_all()
    conductor._version_cap()
    version_caps._KNOWN[auto[1]].refresh()
    assert conductor._version_cap() == {"version_cap": "1.1"}


class StuckScheduler:
    """A scheduler that does not answer in time which versions there are, only other calls."""

    target = messaging.Target(version="1.0")
    given_up = threading.Event()

    @expose
    def get_oldest_versions(self, ctxt):
        self.given_up.wait(60)

    @expose
    def list_partitions(self, ctxt):
        return [ctxt.remaining(60)]


def test_lookup_of_versions_leaves_time_for_the_call(auto, serve):
    conf, transport = auto
    conf.set_override("scheduler", "auto", group="upgrade_levels")
    conf.set_override("call_timeout", 60, group="rpc")
    serve(StuckScheduler())
    try:
        # Shorter than the longest wait for the versions
        (left,) = SchedulerAPI(conf, transport).list_partitions(context.new().with_timeout(ANSWER_S - 0.5))
    finally:
        StuckScheduler.given_up.set()
    assert 0 < left <= (ANSWER_S - 0.5) / 2
