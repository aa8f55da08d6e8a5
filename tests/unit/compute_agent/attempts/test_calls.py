# SPDX-License-Identifier: Apache-2.0
"""Calls to other services: definite answers, and the request context of calls."""

import time
from collections.abc import Callable

import oslo_messaging as messaging
import pytest
from oslo_context import context as current_context

from compute_agent.attempt import Attempt, Stage
from compute_agent.attempts.calls import CallRejected, CallUnanswered, IdentityRefused, ServiceCalls
from rpcapi import errors
from rpcapi.context import RequestContext

HOST_UUID = "00000001-0000-4000-8000-000000000000"
ATTEMPT = Attempt("a", 1, Stage.INTENT, 0, request_id="req-1", owner={"project": "p", "user": "u"})


def raising(error: Exception) -> Callable[[RequestContext], None]:
    def call(ctxt: RequestContext) -> None:
        raise error

    return call


def test_call_has_the_context_of_its_request_and_a_deadline() -> None:
    contexts: list[RequestContext] = []
    ServiceCalls(5.0).call("verb", contexts.append, [ATTEMPT])
    (ctxt,) = contexts
    assert (ctxt.request_id, ctxt.project_id, ctxt.user_id) == ("req-1", "p", "u")
    assert time.time() < ctxt.deadline <= time.time() + 5
    assert current_context.get_current() is ctxt


def test_call_without_attempts_has_a_new_request_id() -> None:
    ids = [ServiceCalls(5.0).call("verb", lambda ctxt: ctxt.request_id) for _ in range(2)]
    assert len(set(ids)) == 2
    assert all(request_id.startswith("req-") for request_id in ids)


@pytest.mark.parametrize(
    "error",
    [
        messaging.MessagingTimeout("late"),
        messaging.MessageDeliveryFailure("away"),
        messaging.RemoteError("KeyError", "x", []),
        errors.StoreUnavailable(why="x"),
        errors.NotReady(what="it", why="x"),
        errors.DeadlinePassed(request_id="r", late=1.0),
        ConnectionRefusedError(),
    ],
)
def test_call_without_definite_answer_raises_unanswered(error: Exception) -> None:
    with pytest.raises(CallUnanswered, match=r"verb got no answer: ."):
        ServiceCalls(5.0).call("verb", raising(error))


@pytest.mark.parametrize("error", [errors.MalformedObject(name="x", why="y"), errors.UnknownHost(name="x")])
def test_rejected_call_raises_rejected(error: Exception) -> None:
    with pytest.raises(CallRejected, match="verb was refused: "):
        ServiceCalls(5.0).call("verb", raising(error))


def test_calls_of_a_host_name_its_state_folder_and_share_the_rest() -> None:
    calls = ServiceCalls(5.0)
    of_host = calls.of_host(HOST_UUID)
    assert calls.call("verb", lambda ctxt: ctxt.host_uuid) is None
    assert of_host.call("verb", lambda ctxt: ctxt.host_uuid) == HOST_UUID
    calls.drain()
    with pytest.raises(CallUnanswered):
        of_host.call("verb", raising(messaging.MessagingTimeout("late")))
    with pytest.raises(CallUnanswered, match="left to the next agent"):
        calls.call("verb", lambda ctxt: "answer")


def test_call_of_a_namesake_raises_identity_refused() -> None:
    with pytest.raises(IdentityRefused, match="verb was refused: Host 'h1' cannot be served from this state folder"):
        ServiceCalls(5.0).call("verb", raising(errors.HostIdentityConflict(host="h1", why="x")))


def test_draining_agent_stops_calling_after_the_first_unanswered_call() -> None:
    calls = ServiceCalls(5.0)
    with pytest.raises(CallUnanswered):
        calls.call("verb", raising(messaging.MessagingTimeout("late")))
    calls.drain()
    assert calls.call("verb", lambda ctxt: ctxt.deadline - time.time()) <= 3.0
    with pytest.raises(CallUnanswered):
        calls.call("verb", raising(messaging.MessagingTimeout("late")))
    with pytest.raises(CallUnanswered, match="left to the next agent"):
        calls.call("verb", lambda ctxt: "answer")
