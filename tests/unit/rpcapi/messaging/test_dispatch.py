# SPDX-License-Identifier: Apache-2.0
"""Dispatch of what peers send: typed errors, one log line each, and no thread that stays behind."""

import logging
import threading
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_messaging.rpc import dispatcher

from rpcapi import context, errors
from rpcapi.endpoint import expose
from rpcapi.messaging.dispatch import StrictDispatcher, StrictServer
from rpcapi.serializer import GanttSerializer


class Endpoint:
    target = messaging.Target(version="1.2")

    def __init__(self) -> None:
        self.beats = threading.Event()

    @expose
    def echo(self, ctxt: context.RequestContext, value: Any = None) -> Any:
        return value

    @expose
    def wait_for_heartbeat(self, ctxt: context.RequestContext) -> bool:
        return self.beats.wait(30)

    @expose
    def fail(self, ctxt: context.RequestContext) -> None:
        raise ZeroDivisionError

    def hidden(self, ctxt: context.RequestContext) -> None:
        raise AssertionError


class Incoming:
    def __init__(self, message: Any, ctxt: Any = None, client_timeout: Any = None) -> None:
        self.message, self.ctxt = message, {} if ctxt is None else ctxt
        self.client_timeout, self.msg_id = client_timeout, "id"
        self.answers: list[Any] = []
        self.failures: list[BaseException] = []
        self.refusal: Exception | None = None
        self.beats = threading.Event()

    def acknowledge(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    def reply(self, answer: Any = None, failure: Any = None) -> None:
        if failure is None:
            self.answers.append(answer)
        else:
            self.failures.append(failure[1])

    def heartbeat(self) -> None:
        self.beats.set()


def serve(incoming: Incoming, endpoint: Endpoint | None = None) -> Incoming:
    """Let a server process the message."""
    server = StrictServer.__new__(StrictServer)
    server.dispatcher = StrictDispatcher([endpoint or Endpoint()], GanttSerializer())
    server._target = messaging.Target(topic="conductor", server="s1")
    server.conf = SimpleNamespace(oslo_messaging_tracing=SimpleNamespace(tracing_enabled=False))
    server._process_incoming([incoming])
    return incoming


def call(**message: Any) -> dict[str, Any]:
    return {"method": "echo", "args": {}, "version": "1.0", **message}


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "echo",
        call(method=None),
        call(method=["echo"]),
        call(method="x" * 100_000),
        call(method="ec\nho"),
        call(args=None),
        call(args=[1]),
        call(version=None),
        call(version="1"),
        call(version="1.x"),
        call(version="\u0661.0"),
        call(version="1." + "9" * 5000),
        call(namespace={}),
        call(args={"self": 1}),
        call(args={"ctxt": 1}),
        call(args={"endpoint": 1}),
        call(args={"x" * 100_000: 1}),
        call(args={"value": {"gantt_object.name": "x" * 100_000}}),
        call(args={"value": {"gantt_object.name": ["InstancePage"], "gantt_object.data": float("inf")}}),
    ],
)
def test_malformed_message_gets_a_typed_error_and_one_short_line(
    message: Any, caplog: pytest.LogCaptureFixture
) -> None:
    incoming = serve(Incoming(message))
    assert [type(error) for error in incoming.failures] == [errors.MalformedObject]
    assert len(str(incoming.failures[0])) < 1000
    assert all(record.exc_info is None for record in caplog.records)
    assert len(caplog.records) <= 1
    assert len(caplog.text) < 1000


def test_argument_that_is_nested_too_deeply_is_refused() -> None:
    value: Any = []
    for _ in range(3000):
        value = [value]
    (error,) = serve(Incoming(call(args={"value": value}))).failures
    assert isinstance(error, errors.MalformedObject)


@pytest.mark.parametrize("deadline", [10**400, -(10**400), float("inf"), float("nan"), "soon", [1]])
def test_deadline_that_is_no_time_is_refused(deadline: Any) -> None:
    (error,) = serve(Incoming(call(), {"deadline": deadline})).failures
    assert isinstance(error, errors.MalformedObject)


@pytest.mark.parametrize("ctxt", [[], "x", 7])
def test_context_of_another_type_is_refused(ctxt: Any) -> None:
    (error,) = serve(Incoming(call(), ctxt)).failures
    assert isinstance(error, errors.MalformedObject)


@pytest.mark.parametrize("key", ["request_id", "project_id", "user_id"])
@pytest.mark.parametrize("text", ["\ud800", "a\nb", "x" * 256, 7, {"a": 1}, "\u2028"])
def test_id_that_cannot_be_stored_or_logged_is_refused(key: str, text: Any) -> None:
    (error,) = serve(Incoming(call(), {key: text})).failures
    assert isinstance(error, errors.MalformedObject)
    assert key in str(error)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (call(method="none"), dispatcher.NoSuchMethod),
        (call(method="hidden"), dispatcher.NoSuchMethod),
        (call(method="__class__"), dispatcher.NoSuchMethod),
        (call(version="1.3"), dispatcher.UnsupportedVersion),
        (call(version="2.0"), dispatcher.UnsupportedVersion),
        (call(namespace="other"), dispatcher.UnsupportedVersion),
    ],
)
def test_unknown_method_or_version_leaves_no_heartbeat_thread(
    message: Any, kind: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    before = threading.active_count()
    incoming = serve(Incoming(message, client_timeout=60))
    assert [type(error) for error in incoming.failures] == [kind]
    assert threading.active_count() == before
    assert [record.exc_info for record in caplog.records] == [None]


@pytest.mark.parametrize("client_timeout", [None, 0, -1, 1.5, 10**400, float("inf"), float("nan"), "60", [60], True])
def test_invalid_monitor_interval_is_ignored(client_timeout: Any) -> None:
    assert serve(Incoming(call(args={"value": 7}), client_timeout=client_timeout)).answers == [7]


def test_monitored_call_sends_heartbeats_until_it_ends() -> None:
    endpoint = Endpoint()
    incoming = Incoming(call(method="wait_for_heartbeat"), client_timeout=2)
    incoming.beats = endpoint.beats
    assert serve(incoming, endpoint).answers == [True]
    assert "heartbeats" not in {thread.name for thread in threading.enumerate()}


def test_bug_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    incoming = serve(Incoming(call(method="fail")))
    assert [type(error) for error in incoming.failures] == [ZeroDivisionError]
    (record,) = caplog.records
    assert record.exc_info


def test_message_that_must_not_run_here_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    incoming = Incoming(call(args={"value": 7}))
    incoming.refusal = RuntimeError("another server runs it")
    serve(incoming)
    assert (incoming.answers, incoming.failures) == ([], [])
    (record,) = caplog.records
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
