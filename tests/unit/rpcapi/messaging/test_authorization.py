# SPDX-License-Identifier: Apache-2.0
"""Refusals of the dispatcher: typed, counted, logged once for each sender."""

import logging
from types import SimpleNamespace

import oslo_messaging as messaging
import pytest

from rpcapi import context, errors
from rpcapi.access.callers import access_of
from rpcapi.access.senders import SenderDirectory
from rpcapi.endpoint import expose
from rpcapi.messaging.authorization import AuthorizingDispatcher
from rpcapi.serializer import GanttSerializer


class Endpoint:
    """Part of the claims service."""

    target = messaging.Target(version="1.7")

    def __init__(self):
        self.senders = []
        self.codes = []

    def _observe(self, method, code, seconds):
        self.codes.append((method, code))

    @expose
    def release_claims(self, ctxt: context.RequestContext, host: str) -> str:
        self.senders.append(ctxt.sender)
        return host


@pytest.fixture
def endpoint():
    return Endpoint()


def dispatch(dispatcher, sender, **values):
    serializer = GanttSerializer()
    ctxt = serializer.serialize_context(context.new()) | ({"sender": sender} if sender else {})
    message = {"method": "release_claims", "args": values, "version": "1.0"}
    return dispatcher.dispatch(SimpleNamespace(message=message, ctxt=ctxt, client_timeout=None))


@pytest.fixture
def dispatcher(endpoint):
    return AuthorizingDispatcher([endpoint], GanttSerializer(), access=access_of("claims"), directory=SenderDirectory())


def test_allowed_call_reaches_the_method_with_its_sender(dispatcher, endpoint):
    assert dispatch(dispatcher, "gantt-compute.h1", host="h1") == "h1"
    assert endpoint.senders == ["gantt-compute.h1"]
    assert endpoint.codes == [("release_claims", "ok")]


def test_refusals_are_typed_and_counted_and_logged_once_for_each_sender(dispatcher, endpoint, caplog):
    caplog.set_level(logging.WARNING)
    for sender in (None, "client", "gantt-compute.h10"):
        for _ in range(3):
            with pytest.raises(messaging.ExpectedException) as raised:
                dispatch(dispatcher, sender, host="h1")
            assert raised.value.exc_info[0] is errors.CallerRefused
    assert endpoint.senders == []
    assert endpoint.codes == [("release_claims", "caller_refused")] * 9
    assert len(caplog.records) == 3
    assert "gantt-compute.h10" in caplog.text
