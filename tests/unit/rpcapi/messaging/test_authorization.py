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

    @expose
    def list_instances(self, ctxt: context.RequestContext) -> list:
        if ctxt.sender == "client.b@p":
            raise errors.CallerRefused(caller="b", service="conductor", method="list_instances", why="a record")
        return [ctxt.project_id, ctxt.sender_project]


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


def list_instances(endpoint, sender, project):
    serializer = GanttSerializer()
    directory, access = SenderDirectory(), access_of("conductor")
    ctxt = serializer.serialize_context(context.new(project)) | {"sender": sender, "sender_project": "q"}
    message = {"method": "list_instances", "args": {}, "version": "1.0"}
    dispatcher = AuthorizingDispatcher([endpoint], serializer, access=access, directory=directory)
    return dispatcher.dispatch(SimpleNamespace(message=message, ctxt=ctxt, client_timeout=None))


def test_method_gets_the_project_of_its_sender_and_not_of_the_body(endpoint):
    assert list_instances(endpoint, "client.a@p", "p") == ["p", "p"]
    assert list_instances(endpoint, "client.a@p", "") == ["p", "p"]
    assert list_instances(endpoint, "client.a", "p") == ["p", None]
    with pytest.raises(messaging.ExpectedException) as raised:
        list_instances(endpoint, "client.a@p", "q")
    assert raised.value.exc_info[0] is errors.CallerRefused


def test_refusal_of_a_method_is_counted_and_logged_too(endpoint, caplog):
    caplog.set_level(logging.WARNING)
    with pytest.raises(messaging.ExpectedException):
        list_instances(endpoint, "client.b@p", "p")
    assert endpoint.codes == [("list_instances", "caller_refused")]
    assert "refused b: a record" in caplog.text
