# SPDX-License-Identifier: Apache-2.0
"""What is repeated on gantt, in which order, and what becomes of it when gantt does not answer."""

import contextlib
import threading

import pytest
from prometheus_client import REGISTRY

from scheduler_svc import shadow_report as reports
from scheduler_svc.placement.shadow.exchanges import NotAnswered, ProxiedResponse, SentRequest
from scheduler_svc.placement.shadow.mirror import Mirror, MirrorOutcome
from scheduler_svc.shadow_report import ShadowReport

SECONDS = 30
OK, CREATED, CONFLICT = (ProxiedResponse(status, (), b"{}") for status in (200, 201, 409))


class Gantt:
    """Records requests and answers them with the next of ``answers``, by default OK; an exception is raised."""

    def __init__(self):
        self.targets = []
        self.answers = []
        self.released = threading.Event()
        self.released.set()

    def send(self, request):
        assert self.released.wait(SECONDS)
        self.targets.append(request.target)
        answer = self.answers.pop(0) if self.answers else OK
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def gantt():
    return Gantt()


@pytest.fixture
def report():
    return ShadowReport(interval_s=3600)


@pytest.fixture
def start(gantt, report):
    with contextlib.ExitStack() as stack:

        def start_mirror(max_waiting=100, **limits):
            mirror = Mirror(gantt, max_waiting, report, retry_s=0.01, **limits)
            mirror.start()
            stack.callback(mirror.wait)
            stack.callback(mirror.stop)
            stack.callback(gantt.released.set)
            return mirror

        yield start_mirror


@pytest.fixture
def counted():
    """Returns how many requests had an outcome since the test began."""

    def read(kind, outcome):
        labels = {"kind": kind, "outcome": outcome}
        return REGISTRY.get_sample_value("gantt_placement_shadow_requests_total", labels) or 0

    before = {(kind, outcome): read(kind, outcome) for kind in ("read", "write") for outcome in MirrorOutcome}
    return lambda kind, outcome: read(kind, outcome) - before[kind, outcome]


def request(method, target):
    return SentRequest(method, target, {}, b"")


def exchange(mirror, method, target, answer=OK):
    sent = request(method, target)
    mirror.end(sent, mirror.begin(sent), answer)


def test_exchanges_are_repeated_in_their_order(gantt, start, counted):
    mirror = start()
    for number in range(20):
        exchange(mirror, "PUT" if number % 2 else "GET", f"/{number}")
    assert mirror.drain(SECONDS)
    assert gantt.targets == [f"/{number}" for number in range(20)]
    assert (counted("read", MirrorOutcome.EQUAL), counted("write", MirrorOutcome.EQUAL)) == (10, 10)


def test_refused_and_unanswered_writes_are_not_repeated(gantt, start, counted):
    mirror = start()
    exchange(mirror, "PUT", "/refused", CONFLICT)
    exchange(mirror, "PUT", "/lost", None)
    exchange(mirror, "GET", "/missing", ProxiedResponse(404, (), b"{}"))
    assert mirror.drain(SECONDS)
    assert gantt.targets == ["/missing"]
    assert (counted("write", MirrorOutcome.REFUSED), counted("write", MirrorOutcome.UNCERTAIN)) == (1, 1)
    assert counted("read", MirrorOutcome.DIFFERENT) == 1


@pytest.mark.parametrize("order", ["read begins first", "write begins first", "write within the read"])
def test_read_that_overlaps_a_write_is_not_compared(gantt, start, counted, order):
    mirror = start()
    reading, writing = request("GET", "/read"), request("PUT", "/write")
    if order == "write begins first":
        mirror.begin(writing)
        began = mirror.begin(reading)
        mirror.end(writing, None, OK)
        mirror.end(reading, began, OK)
    else:
        began = mirror.begin(reading)
        mirror.begin(writing)
        if order == "write within the read":
            mirror.end(writing, None, OK)
            mirror.end(reading, began, OK)
        else:
            mirror.end(reading, began, OK)
            mirror.end(writing, None, OK)
    exchange(mirror, "GET", "/after")
    assert mirror.drain(SECONDS)
    assert gantt.targets == ["/write", "/after"]
    assert counted("read", MirrorOutcome.OVERLAPPED) == 1


def test_write_is_repeated_until_gantt_answers(gantt, start, counted):
    gantt.answers = [NotAnswered("refused"), ProxiedResponse(503, (), b"{}"), CREATED]
    mirror = start()
    exchange(mirror, "PUT", "/1", CREATED)
    exchange(mirror, "PUT", "/2")
    assert mirror.drain(SECONDS)
    assert gantt.targets == ["/1", "/1", "/1", "/2"]
    assert counted("write", MirrorOutcome.EQUAL) == 2


def test_read_that_gantt_does_not_answer_is_given_up(gantt, start, counted):
    gantt.answers = [NotAnswered("refused")]
    mirror = start()
    exchange(mirror, "GET", "/1")
    assert mirror.drain(SECONDS)
    assert (gantt.targets, counted("read", MirrorOutcome.FAILED)) == (["/1"], 1)


def test_no_more_wait_than_allowed(gantt, start, counted):
    mirror = start(max_waiting=2)
    gantt.released.clear()
    for number in range(5):
        exchange(mirror, "PUT", f"/{number}")
    dropped = counted("write", MirrorOutcome.DROPPED)
    assert dropped in (2, 3)  # the first one may have been taken already
    gantt.released.set()
    assert mirror.drain(SECONDS)
    assert len(gantt.targets) == 5 - dropped


def test_stop_ends_a_write_that_gantt_never_answers(gantt, start, counted):
    gantt.answers = [NotAnswered("refused")] * 1_000_000
    mirror = start()
    exchange(mirror, "PUT", "/1")
    exchange(mirror, "PUT", "/2")
    mirror.stop()
    mirror.wait()
    assert counted("write", MirrorOutcome.DROPPED) == 2


def test_bodies_that_wait_are_limited(gantt, start, counted):
    mirror = start(max_bytes=1000)
    gantt.released.clear()
    large = ProxiedResponse(200, (), b'"%s"' % (b"x" * 198))
    for number in range(8):
        exchange(mirror, "GET", f"/{number}", large)
    dropped = counted("read", MirrorOutcome.DROPPED)
    assert dropped in (5, 6)  # reads have half of the bytes; the first one may have been taken already
    gantt.released.set()
    assert mirror.drain(SECONDS)
    exchange(mirror, "GET", "/after", large)
    assert mirror.drain(SECONDS)
    assert gantt.targets[-1] == "/after"


def test_reads_leave_space_for_writes(gantt, start, counted):
    mirror = start(max_waiting=4)
    gantt.released.clear()
    for number in range(10):
        exchange(mirror, "GET", f"/read/{number}")
    for number in range(2):
        exchange(mirror, "PUT", f"/write/{number}")
    assert counted("write", MirrorOutcome.DROPPED) == 0
    gantt.released.set()
    assert mirror.drain(SECONDS)
    assert gantt.targets[-2:] == ["/write/0", "/write/1"]


def test_mirror_goes_on_after_a_request_that_cannot_be_sent(gantt, start, counted):
    gantt.answers = [ValueError("invalid header")]
    mirror = start()
    exchange(mirror, "PUT", "/1")
    exchange(mirror, "PUT", "/2")
    assert mirror.drain(SECONDS)
    assert gantt.targets == ["/1", "/2"]
    assert (counted("write", MirrorOutcome.FAILED), counted("write", MirrorOutcome.EQUAL)) == (1, 1)


def lines_of(caplog):
    return [record.getMessage() for record in caplog.records if record.name == reports.__name__]


@pytest.fixture
def two_warnings(monkeypatch):
    monkeypatch.setattr(reports, "MAX_WARNINGS", 2)


@pytest.mark.usefixtures("two_warnings")
def test_log_is_bounded_until_the_summary_and_all_is_counted(gantt, start, report, counted, caplog):
    caplog.set_level("INFO")
    mirror = start()
    for _ in range(2):
        caplog.clear()
        gantt.answers = [CONFLICT] * 5
        for number in range(5):
            exchange(mirror, "GET", f"/{number}")
        assert mirror.drain(SECONDS)
        report.summarize()
        first, second, summary = lines_of(caplog)
        assert (first.partition(":")[0], second.partition(":")[0]) == ("GET /0", "GET /1")
        assert summary == "Since the last summary: read different: 5; 3 more warnings were not logged"
    assert counted("read", MirrorOutcome.DIFFERENT) == 10
    caplog.clear()
    report.summarize()
    assert lines_of(caplog) == []


def test_write_that_gantt_refuses_is_counted_by_route_and_code(gantt, start, report, counted, caplog):
    caplog.set_level("INFO")
    labels = {"method": "PUT", "route": "/traits/{name}", "status": "409", "code": "placement.concurrent_update"}

    def count():
        return REGISTRY.get_sample_value("gantt_placement_shadow_refused_writes_total", labels) or 0

    before = count()
    gantt.answers = [ProxiedResponse(409, (), b'{"errors": [{"code": "placement.concurrent_update"}]}'), CREATED]
    mirror = start()
    exchange(mirror, "PUT", "/traits/CUSTOM_A", CREATED)
    exchange(mirror, "PUT", "/traits/CUSTOM_A", OK)
    assert mirror.drain(SECONDS)
    report.summarize()
    assert count() - before == 1
    assert (counted("write", MirrorOutcome.GANTT_REFUSED), counted("write", MirrorOutcome.DIFFERENT)) == (1, 1)
    assert lines_of(caplog)[-1] == (
        "Since the last summary: write different: 1, write gantt_refused: 1; "
        "gantt refused PUT /traits/{name} 409 placement.concurrent_update: 1"
    )


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_token_that_gantt_does_not_accept_is_no_difference(gantt, start, counted, caplog, method):
    unauthorized = ProxiedResponse(401, (), b"{}")
    kind = "read" if method == "GET" else "write"
    gantt.answers = [unauthorized, unauthorized]
    mirror = start()
    exchange(mirror, method, "/late")
    exchange(mirror, "GET", "/as/there", unauthorized)
    assert mirror.drain(SECONDS)
    assert counted(kind, MirrorOutcome.UNAUTHENTICATED) == 1
    assert counted("read", MirrorOutcome.EQUAL) == 1
    assert counted(kind, MirrorOutcome.DIFFERENT) == counted(kind, MirrorOutcome.GANTT_REFUSED) == 0
    is_warned = "PUT /late is unauthenticated: compare both ends" in caplog.text
    assert is_warned is (method == "PUT")


def test_write_that_may_be_missing_is_logged_with_the_command_that_compares(start, caplog):
    mirror = start()
    exchange(mirror, "PUT", "/lost", None)
    assert "PUT /lost is uncertain: compare both ends with gantt-placement-import --verify" in caplog.text
