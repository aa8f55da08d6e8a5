# SPDX-License-Identifier: Apache-2.0
"""Calls of other services: what counts as an answer, and under whose name they are made."""

import time
from collections.abc import Callable

import oslo_messaging as messaging
import pytest
from oslo_context import context as current_context

from compute_agent.attempt import Attempt, Stage
from compute_agent.calls import CallRejected, CallUnanswered, ServiceCalls
from rpcapi import errors
from rpcapi.context import RequestContext

ATTEMPT = Attempt("a", 1, Stage.INTENT, 0, request_id="req-1", owner={"project": "p", "user": "u"})


def raising(error: Exception) -> Callable[[RequestContext], None]:
    def call(ctxt: RequestContext) -> None:
        raise error

    return call


def test_a_call_goes_out_in_the_name_of_the_request_it_serves_and_with_a_deadline() -> None:
    seen: list[RequestContext] = []
    ServiceCalls(5.0).call("verb", seen.append, [ATTEMPT])
    (ctxt,) = seen
    assert (ctxt.request_id, ctxt.project_id, ctxt.user_id) == ("req-1", "p", "u")
    assert time.time() < ctxt.deadline <= time.time() + 5
    assert current_context.get_current() is ctxt


def test_a_call_about_nothing_has_a_request_id_of_its_own() -> None:
    ids = [ServiceCalls(5.0).call("verb", lambda ctxt: ctxt.request_id) for _ in range(2)]
    assert len(set(ids)) == 2
    assert all(one.startswith("req-") for one in ids)


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
def test_what_gives_no_definite_answer_is_to_be_asked_again(error: Exception) -> None:
    with pytest.raises(CallUnanswered, match=r"verb got no answer: ."):
        ServiceCalls(5.0).call("verb", raising(error))


@pytest.mark.parametrize("error", [errors.MalformedObject(name="x", why="y"), errors.UnknownHost(name="x")])
def test_a_question_that_is_refused_is_another_matter(error: Exception) -> None:
    with pytest.raises(CallRejected, match="verb was refused: "):
        ServiceCalls(5.0).call("verb", raising(error))


def test_a_draining_agent_asks_until_the_first_call_in_vain() -> None:
    calls = ServiceCalls(5.0)
    with pytest.raises(CallUnanswered):
        calls.call("verb", raising(messaging.MessagingTimeout("late")))
    calls.drain()
    assert calls.call("verb", lambda ctxt: ctxt.deadline - time.time()) <= 3.0
    with pytest.raises(CallUnanswered):
        calls.call("verb", raising(messaging.MessagingTimeout("late")))
    with pytest.raises(CallUnanswered, match="left to the next agent"):
        calls.call("verb", lambda ctxt: "answer")
