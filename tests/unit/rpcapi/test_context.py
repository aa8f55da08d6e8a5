# SPDX-License-Identifier: Apache-2.0
"""The request context and its deadline."""

import threading
import time

import pytest
from oslo_context import context as oslo_context

from rpcapi import context, errors


def test_new_context_has_a_new_request_id_and_is_not_current():
    before = oslo_context.get_current()
    assert context.new().request_id != context.new().request_id
    assert oslo_context.get_current() is before


def test_new_contexts_do_not_become_current():
    observed = []

    def create() -> None:
        ctxt = context.new()
        ctxt.with_timeout(5).without_deadline()
        observed.append(oslo_context.get_current())
        ctxt.update_store()
        observed.append(oslo_context.get_current() is ctxt)

    thread = threading.Thread(target=create)
    thread.start()
    thread.join()
    assert observed == [None, True]


def test_with_timeout_sets_a_deadline_and_keeps_the_ids():
    ctxt = context.new("p", "u")
    limited = ctxt.with_timeout(5)
    assert (limited.request_id, limited.project_id, limited.user_id) == (ctxt.request_id, "p", "u")
    assert 0 < limited.remaining(99) <= 5
    assert ctxt.remaining(99) == 99


def test_earlier_deadline_is_kept():
    ctxt = context.new(deadline=time.time() + 1)
    assert ctxt.with_timeout(100).deadline == ctxt.deadline
    assert ctxt.with_timeout(0.1).deadline < ctxt.deadline


def test_check_deadline_raises_after_the_deadline():
    late = context.new(deadline=time.time() - 10)
    assert late.remaining(99) == 0
    with pytest.raises(errors.DeadlinePassed, match=rf"{late.request_id} was read 1\d\.\d s after"):
        late.check_deadline()
    context.new().check_deadline()
    context.new(deadline=time.time() + 60).check_deadline()


def test_state_folder_of_an_agent_is_sent_and_checked():
    host_uuid = "00000001-0000-4000-8000-000000000000"
    sent = context.new(host_uuid=host_uuid).with_timeout(5).to_dict()
    assert context.RequestContext.from_dict(sent, overwrite=False).host_uuid == host_uuid
    assert "host_uuid" not in context.new().to_dict()
    for wrong in ("a\nb", 5):
        with pytest.raises(errors.MalformedObject):
            context.RequestContext.from_dict(sent | {"host_uuid": wrong}, overwrite=False)
