# SPDX-License-Identifier: Apache-2.0
"""The request context: its deadline only ever comes nearer."""

import threading
import time

import pytest
from oslo_context import context as oslo_context

from rpcapi import context, errors


def test_each_context_has_a_request_id_of_its_own_and_is_not_the_threads():
    before = oslo_context.get_current()
    assert context.new().request_id != context.new().request_id
    assert oslo_context.get_current() is before


def test_what_is_made_beside_the_current_context_leaves_a_thread_without_one():
    found = []

    def make() -> None:
        ctxt = context.new()
        ctxt.within(5).lasting()
        found.append(oslo_context.get_current())
        ctxt.update_store()
        found.append(oslo_context.get_current() is ctxt)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert found == [None, True]


def test_within_sets_a_deadline_and_keeps_the_rest():
    ctxt = context.new("p", "u")
    near = ctxt.within(5)
    assert (near.request_id, near.project_id, near.user_id) == (ctxt.request_id, "p", "u")
    assert 0 < near.remaining(99) <= 5
    assert ctxt.remaining(99) == 99


def test_an_earlier_deadline_wins():
    ctxt = context.new(deadline=time.time() + 1)
    assert ctxt.within(100).deadline == ctxt.deadline
    assert ctxt.within(0.1).deadline < ctxt.deadline


def test_past_the_deadline_nothing_remains_and_the_check_raises():
    late = context.new(deadline=time.time() - 10)
    assert late.remaining(99) == 0
    with pytest.raises(errors.DeadlinePassed, match=rf"{late.request_id} was read 1\d\.\d s after"):
        late.check_deadline()
    context.new().check_deadline()
    context.new(deadline=time.time() + 60).check_deadline()
