# SPDX-License-Identifier: Apache-2.0
"""What an exposed method does before it runs, and how its errors leave it."""

import inspect
import time

import oslo_messaging as messaging
import pytest
from oslo_context import context as oslo_context

from rpcapi import context, errors
from rpcapi.endpoint import exposed


class Endpoint:
    def __init__(self) -> None:
        self.seen: list[str] = []

    @exposed
    def work(self, ctxt: context.RequestContext, what: str, times: int = 1) -> str:
        """Work."""
        self.seen.append(oslo_context.get_current().request_id)
        if what == "refuse":
            raise errors.InvalidSpec(why="refused")
        if what == "break":
            raise ZeroDivisionError
        return what * times


def call(endpoint: Endpoint, ctxt: context.RequestContext, **values: object) -> str:
    """Call as the RPC server does, and raise what the caller would see."""
    try:
        return endpoint.work(ctxt, **values)
    except messaging.ExpectedException as wrapped:
        raise wrapped.exc_info[1] from None


def test_the_callers_context_is_current_while_the_method_runs():
    endpoint, ctxt = Endpoint(), context.new()
    assert call(endpoint, ctxt, what="a", times=3) == "aaa"
    assert endpoint.seen == [ctxt.request_id]


def test_a_request_past_its_deadline_is_dropped():
    endpoint, ctxt = Endpoint(), context.new(deadline=time.time() - 1)
    with pytest.raises(errors.DeadlinePassed):
        call(endpoint, ctxt, what="a")
    assert endpoint.seen == []


@pytest.mark.parametrize("values", [{}, {"what": "a", "more": 1}])
def test_arguments_that_do_not_fit_are_a_typed_error(values):
    with pytest.raises(errors.MalformedObject, match="call of work"):
        call(Endpoint(), context.new(), **values)


def test_typed_errors_are_expected_and_others_are_not():
    with pytest.raises(errors.InvalidSpec):
        call(Endpoint(), context.new(), what="refuse")
    with pytest.raises(ZeroDivisionError):
        Endpoint().work(context.new(), what="break")


def test_name_signature_and_mark_survive():
    assert list(inspect.signature(Endpoint.work).parameters) == ["self", "ctxt", "what", "times"]
    assert Endpoint.work.__doc__ == "Work."
    assert messaging.ExplicitRPCAccessPolicy().is_allowed(Endpoint(), "work")
    assert not messaging.ExplicitRPCAccessPolicy().is_allowed(Endpoint(), "seen")


def test_an_endpoint_that_observes_hears_how_each_call_ended():
    heard = []

    class Observed(Endpoint):
        def _observe(self, method: str, code: str, seconds: float) -> None:
            heard.append((method, code, 0 <= seconds < 60))

    endpoint = Observed()
    call(endpoint, context.new(), what="a")
    with pytest.raises(errors.InvalidSpec):
        call(endpoint, context.new(), what="refuse")
    with pytest.raises(ZeroDivisionError):
        endpoint.work(context.new(), what="break")
    with pytest.raises(errors.DeadlinePassed):
        call(endpoint, context.new(deadline=1.0), what="a")
    assert heard == [("work", code, True) for code in ("ok", "invalid_spec", "bug", "deadline_passed")]
