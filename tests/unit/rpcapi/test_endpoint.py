# SPDX-License-Identifier: Apache-2.0
"""Exposed methods: context, deadline, argument checks, errors and observation."""

import inspect
import time
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_context import context as oslo_context

from rpcapi import context, errors, objects
from rpcapi.endpoint import ArgumentChecker, expose
from rpcapi.resources import names


class Endpoint:
    def __init__(self) -> None:
        self.request_ids: list[str] = []

    @expose
    def work(self, ctxt: context.RequestContext, what: str, times: int = 1) -> str:
        """Work."""
        self.request_ids.append(oslo_context.get_current().request_id)
        if what == "refuse":
            raise errors.InvalidSpec(why="refused")
        if what == "break":
            raise ZeroDivisionError
        return what * times


def call(endpoint: Endpoint, ctxt: context.RequestContext, **values: object) -> str:
    """Call as the RPC server does, and raise the error that the caller would get."""
    try:
        return endpoint.work(ctxt, **values)
    except messaging.ExpectedException as wrapped:
        raise wrapped.exc_info[1] from None


def test_context_of_the_caller_is_current_in_the_method():
    endpoint, ctxt = Endpoint(), context.new()
    assert call(endpoint, ctxt, what="a", times=3) == "aaa"
    assert endpoint.request_ids == [ctxt.request_id]


def test_request_after_its_deadline_is_dropped():
    endpoint, ctxt = Endpoint(), context.new(deadline=time.time() - 1)
    with pytest.raises(errors.DeadlinePassed):
        call(endpoint, ctxt, what="a")
    assert endpoint.request_ids == []


@pytest.mark.parametrize("values", [{}, {"what": "a", "more": 1}])
def test_invalid_arguments_raise_a_typed_error(values):
    with pytest.raises(errors.MalformedObject, match="call of work"):
        call(Endpoint(), context.new(), **values)


def test_only_typed_errors_are_expected_exceptions():
    with pytest.raises(errors.InvalidSpec):
        call(Endpoint(), context.new(), what="refuse")
    with pytest.raises(ZeroDivisionError):
        Endpoint().work(context.new(), what="break")


def test_name_signature_and_exposed_attribute_are_kept():
    assert list(inspect.signature(Endpoint.work).parameters) == ["self", "ctxt", "what", "times"]
    assert Endpoint.work.__doc__ == "Work."
    assert messaging.ExplicitRPCAccessPolicy().is_allowed(Endpoint(), "work")
    assert not messaging.ExplicitRPCAccessPolicy().is_allowed(Endpoint(), "request_ids")


def test_observe_is_called_with_the_result_of_each_call():
    observations = []

    class ObservedEndpoint(Endpoint):
        def _observe(self, method: str, code: str, seconds: float) -> None:
            observations.append((method, code, 0 <= seconds < 60))

    endpoint = ObservedEndpoint()
    call(endpoint, context.new(), what="a")
    with pytest.raises(errors.InvalidSpec):
        call(endpoint, context.new(), what="refuse")
    with pytest.raises(ZeroDivisionError):
        endpoint.work(context.new(), what="break")
    with pytest.raises(errors.DeadlinePassed):
        call(endpoint, context.new(deadline=1.0), what="a")
    assert observations == [("work", code, True) for code in ("ok", "invalid_spec", "bug", "deadline_passed")]


def test_late_requests_are_observed_with_checked_arguments():
    observations = []

    class ObservedEndpoint(Endpoint):
        def _observe_late(self, method: str, ctxt: context.RequestContext, values: dict[str, object]) -> None:
            observations.append((method, ctxt.deadline, values))

    endpoint = ObservedEndpoint()
    call(endpoint, context.new(), what="a")
    with pytest.raises(errors.DeadlinePassed):
        call(endpoint, context.new(deadline=1.0), what="a")
    with pytest.raises(errors.MalformedObject):
        call(endpoint, context.new(deadline=1.0), what=7)
    assert observations == [("work", 1.0, {"what": "a"})]


class CheckedEndpoint:
    def work(
        self,
        ctxt: Any,
        *,
        refs: objects.ClaimRefs,
        uuids: list[str],
        host: str | None = None,
        limit: int = 1,
        deep: bool = False,
        name: names.ResourceName = "h",
        anything: Any = None,
    ) -> None: ...


REFS = objects.ClaimRefs.of(consumers=[], attempts=[])
GOOD = {"refs": REFS, "uuids": []}


def check(**values):
    ArgumentChecker(CheckedEndpoint.work).check(CheckedEndpoint(), None, values)


@pytest.mark.parametrize(
    "values",
    [{}, {"host": None}, {"host": "h"}, {"limit": 3, "deep": True}, {"name": ["h", "n"]}, {"anything": object()}],
)
def test_valid_arguments_pass(values):
    check(**GOOD | values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"refs": REFS}, "call of work: missing a required argument: 'uuids'"),
        (GOOD | {"more": 1}, "unexpected keyword argument 'more'"),
        (GOOD | {"refs": {}}, "refs must be of type ClaimRefs, not dict"),
        (GOOD | {"refs": objects.ClaimPage.of(claims=[])}, "refs must be of type ClaimRefs, not ClaimPage"),
        (GOOD | {"uuids": "abc"}, "uuids must be of type list, not str"),
        (GOOD | {"host": 7}, "host must be of type str or NoneType, not int"),
        (GOOD | {"limit": True}, "limit must be of type int, not bool"),
        (GOOD | {"limit": None}, "limit must be of type int, not NoneType"),
        (GOOD | {"deep": 1}, "deep must be of type bool, not int"),
        (GOOD | {"name": {"h": "n"}}, "name must be of type str or Sequence, not dict"),
    ],
)
def test_invalid_argument_is_malformed_with_its_name(values, sentence):
    with pytest.raises(errors.MalformedObject) as caught:
        check(**values)
    assert sentence in caught.value.sentence
