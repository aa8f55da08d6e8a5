# SPDX-License-Identifier: Apache-2.0
"""The session of one run: retries, pages, partitions and request ids."""

import getpass
import time
from types import SimpleNamespace

import oslo_messaging as messaging
import pytest
import tenacity

from rpcapi import errors
from rpcapi.admin import session as session_module
from rpcapi.admin.session import Session


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=lambda seconds: None))
    created = Session(project="crew")
    created.conf = SimpleNamespace(rpc=SimpleNamespace(call_timeout=7.0, partition="cell1"))
    return created


def answers(*results):
    """Return an API method that raises or returns one of ``results`` after the other, and its contexts."""
    rest, contexts = iter(results), []

    def method(ctxt, *args, **values):
        contexts.append(ctxt)
        result = next(rest)
        if isinstance(result, Exception):
            raise result
        return result

    return method, contexts


@pytest.mark.parametrize("error", [messaging.MessagingTimeout("late"), errors.StoreUnavailable(why="away")])
def test_call_without_answer_is_repeated_with_the_same_request_and_a_new_deadline(session, error):
    method, contexts = answers(error, error, "answer")
    before = time.time()
    assert session.call(method) == "answer"
    assert len({ctxt.request_id for ctxt in contexts}) == 1
    assert len(contexts) == session_module.ATTEMPTS
    for ctxt in contexts:
        assert before + 7 <= ctxt.deadline <= time.time() + 7


def test_call_that_is_never_answered_raises_the_last_error(session):
    method, contexts = answers(*[messaging.MessagingTimeout(f"late {number}") for number in range(9)])
    with pytest.raises(messaging.MessagingTimeout, match="late 2"):
        session.call(method)
    assert len(contexts) == 3


def test_calls_of_a_limited_block_are_not_repeated_after_its_end(session):
    def method(ctxt):
        deadlines.append(ctxt.deadline)
        session.ctxt.deadline = time.time()  # the call takes all the time
        raise messaging.MessagingTimeout("late")

    deadlines, before = [], time.time()
    with session.limit_calls(3.0), pytest.raises(messaging.MessagingTimeout):
        session.call(method)
    assert len(deadlines) == 1
    assert before + 3 <= deadlines[0] <= time.time() + 3
    assert session.ctxt.deadline == 0


def test_definite_answer_is_not_repeated(session):
    method, contexts = answers(errors.UnknownHost(name="h"), "never")
    with pytest.raises(errors.UnknownHost):
        session.call(method)
    assert len(contexts) == 1


def test_arguments_are_passed_on(session):
    assert session.call(lambda ctxt, *args, **values: (args, values), 1, b=2) == ((1,), {"b": 2})


def test_context_is_that_of_user_and_project(session, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    assert (session.ctxt.project_id, session.ctxt.user_id) == ("crew", "ada")


def test_user_id_without_a_name_is_no_error(session, monkeypatch):
    def no_name():
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", no_name)
    assert session.ctxt.user_id == ""


def test_new_request_has_a_new_id_for_later_calls(session):
    first = session.ctxt.request_id
    second = session.new_request()
    assert second != first
    assert session.ctxt.request_id == second


def test_all_pages_are_listed(session):
    pages = {None: (["a", "b"], "b"), "b": ([], "c"), "c": (["d"], None)}
    limits = []

    def listing(ctxt, partition, marker, limit, deleted):
        limits.append((partition, limit, deleted))
        items, following = pages[marker]
        return SimpleNamespace(instances=items, marker=following)

    assert list(session.list_all(listing, "instances", "p", deleted=True)) == ["a", "b", "d"]
    assert limits == [("p", session_module.PAGE, True)] * 3
    assert list(session.list_all(listing, "instances", "p", marker="b", deleted=True)) == ["d"]


def test_partitions_are_those_of_the_scheduler(session):
    session.scheduler = SimpleNamespace(list_partitions=lambda ctxt: SimpleNamespace(names=("a", "b")))
    assert session.partitions() == ["a", "b"]
    assert session.partitions("b") == ["b"]
    with pytest.raises(errors.UnknownPartition, match="a, b"):
        session.partitions("c")


def test_bus_is_closed_only_if_it_was_opened(session):
    session.close()
    closed = []
    session.transport = SimpleNamespace(cleanup=lambda: closed.append(True))
    session.close()
    assert closed == [True]


def test_closed_session_opens_the_bus_again(session, monkeypatch):
    opened = []

    def open_bus(_conf):
        opened.append(SimpleNamespace(cleanups=0))
        return SimpleNamespace(cleanup=lambda bus=opened[-1]: setattr(bus, "cleanups", bus.cleanups + 1))

    monkeypatch.setattr(session_module, "_open_bus", open_bus)
    for _ in range(2):
        with session:
            assert session.transport is not None
    session.close()
    assert [bus.cleanups for bus in opened] == [1, 1]
