# SPDX-License-Identifier: Apache-2.0
"""Calls that run again later: in order, without threads of their server, and never after its end."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_config import cfg

from rpcapi import context, errors
from rpcapi.endpoint import expose
from rpcapi.messaging import arrivals, bus
from rpcapi.messaging.arrivals import Arrival, ArrivalServer
from rpcapi.messaging.dispatch import StrictDispatcher
from rpcapi.messaging.postponement import MIN_SWEEP, CallPostponed, DelayedJobs
from rpcapi.serializer import GanttSerializer

FAR = 3600.0


def test_jobs_run_in_the_order_of_their_times() -> None:
    jobs, ran, done = DelayedJobs(), list[int](), threading.Event()
    assert jobs.add(done.set, 0.06)
    for number, seconds in [(3, 0.04), (1, 0.0), (2, 0.02)]:
        jobs.add(lambda number=number: ran.append(number), seconds)  # type: ignore[misc]
    assert done.wait(30)
    assert ran == [1, 2, 3]


def test_failing_job_does_not_stop_the_others() -> None:
    jobs, done = DelayedJobs(), threading.Event()
    jobs.add(lambda: 1 // 0, 0.0)
    jobs.add(done.set, 0.01)
    assert done.wait(30)


def test_job_for_which_no_thread_can_be_started_is_refused_and_the_next_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, ran, done, start = DelayedJobs(), list[str](), threading.Event(), threading.Thread.start

    def fail_once(_thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", start)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail_once)
    assert not jobs.add(lambda: ran.append("refused"), 0.0)
    assert jobs.add(done.set, 0.01)
    assert done.wait(30)
    assert ran == []


def test_obsolete_jobs_are_removed_before_the_first_one_is_due() -> None:
    jobs, ran = DelayedJobs(), list[int]()
    for number in range(3 * MIN_SWEEP):
        jobs.add(lambda number=number: ran.append(number), FAR, lambda number=number: number % 64 > 0)  # type: ignore[misc]
    assert len(jobs._due) <= MIN_SWEEP + 3
    jobs.close()
    assert [number for number in ran if number % 64 == 0] == [0, 64, 128]


def test_close_runs_what_waits_and_accepts_no_more() -> None:
    jobs, ran = DelayedJobs(), list[str]()
    jobs.add(lambda: ran.append("late"), FAR)
    jobs.add(lambda: ran.append("early"), FAR / 2)
    jobs.close()
    assert ran == ["early", "late"]
    assert not jobs.add(lambda: ran.append("never"), 0.0)
    jobs.close()
    assert ran == ["early", "late"]


def test_close_returns_after_the_job_in_progress() -> None:
    """Given a job that is due, and not finished, when the server ends its executor after ``close``."""
    jobs, began, may_end, steps = DelayedJobs(), threading.Event(), threading.Event(), list[str]()

    def job() -> None:
        began.set()
        may_end.wait(30)
        steps.append("job")

    def close() -> None:
        jobs.close()
        steps.append("close")

    jobs.add(job, 0.0)
    assert began.wait(30)
    closing = threading.Thread(target=close)
    closing.start()
    closing.join(0.2)
    may_end.set()
    closing.join(30)
    assert steps == ["job", "close"]


class Endpoint:
    """An endpoint whose method ``decide`` is refused ``refusals`` times."""

    target = messaging.Target(version="1.0")

    def __init__(self) -> None:
        self.refusals, self.runs = 0, 0

    @expose
    def decide(self, ctxt: context.RequestContext) -> str:
        self.runs += 1
        if self.runs <= self.refusals:
            try:
                raise errors.NoValidHost(reason=f"refusal {self.runs}", reasons={})
            except errors.NoValidHost:
                raise CallPostponed(messaging.ExpectedException()) from None
        return "selected"

    @expose
    def ping(self, ctxt: context.RequestContext) -> str:
        return "pong"


class Served(SimpleNamespace):
    """A server with one thread, its endpoint and a client."""

    def call(self, method: str) -> Any:
        return self.client.call(context.new(), method)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(arrivals, "FIRST_PAUSE", 0.05)
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    transport = bus.get_transport(conf, "fake://")
    conf.set_override("executor_thread_pool_size", 1)
    endpoint, target = Endpoint(), messaging.Target(exchange="postponed", topic="decide", server="one")
    server = ArrivalServer(transport, target, StrictDispatcher([endpoint], GanttSerializer()))
    server.start()
    client = messaging.get_rpc_client(
        transport, messaging.Target(exchange="postponed", topic="decide"), timeout=30, serializer=GanttSerializer()
    )
    yield Served(server=server, endpoint=endpoint, client=client)
    server.stop()
    server.wait()
    transport.cleanup()


def test_postponed_call_runs_until_it_is_answered(served: Served) -> None:
    served.endpoint.refusals = 3
    assert served.call("decide") == "selected"
    assert served.endpoint.runs == 4


def test_waiting_call_occupies_no_thread(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "FIRST_PAUSE", 1.0)
    served.endpoint.refusals = 1
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(served.call("decide")))
    thread.start()
    while not served.endpoint.runs:
        pass
    assert (served.call("ping"), answers) == ("pong", [])
    thread.join(30)
    assert answers == ["selected"]


def test_caller_is_answered_within_a_third_of_its_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "CALLER_SECONDS", 2.0)
    served.endpoint.refusals = 1000
    with pytest.raises(errors.NoValidHost) as caught:
        served.call("decide")
    assert 2 <= served.endpoint.runs < 10
    assert f"refusal {served.endpoint.runs}" in str(caught.value)


def test_server_that_stops_runs_its_postponed_calls_for_the_last_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "FIRST_PAUSE", 15.0)
    served.endpoint.refusals = 1000
    failures: list[Exception] = []

    def call() -> None:
        try:
            served.call("decide")
        except errors.NoValidHost as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not served.server._delayed._due:
        pass
    served.server.stop()
    served.server.wait()
    thread.join(30)
    assert len(failures) == 1
    assert served.endpoint.runs == 2


@pytest.mark.parametrize(("client_timeout", "is_postponed"), [(None, False), (60, False), (FAR, True)])
def test_time_of_a_caller_is_that_of_its_monitor(
    served: Served, client_timeout: float | None, is_postponed: bool
) -> None:
    arrival = Arrival(time.monotonic() - arrivals.CALLER_SECONDS / 3, 0.0)
    message = SimpleNamespace(arrival=arrival, client_timeout=client_timeout, msg_id="m")
    served.server._delayed.add = lambda _job, _seconds: True
    assert served.server._postpone(message) is is_postponed
    assert message.arrival == replace(arrival, runs=1)
