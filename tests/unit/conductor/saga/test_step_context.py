# SPDX-License-Identifier: Apache-2.0
"""Context, pauses and request of a pass of the saga."""

import itertools
import time
from dataclasses import replace

import pytest

from conductor.saga.step_context import MAX_RETRY_MS, StepContext
from tests.support.conductor.step_contexts import NOW, REQUEST, SPEC, instance, make_context


def test_spec_is_that_of_the_request() -> None:
    context = make_context()
    assert context.spec.resources == SPEC.resources
    assert context.spec is context.spec


def test_calls_are_made_for_the_owner_of_the_request_with_a_deadline() -> None:
    before = time.time()
    ctxt = make_context(call_s=50.0).new_ctxt()
    assert (ctxt.request_id, ctxt.project_id, ctxt.user_id) == ("req-1", "project", "user")
    assert before + 50 <= ctxt.deadline <= time.time() + 50


def test_pause_before_a_retry_doubles_up_to_its_maximum() -> None:
    context, record, pauses = make_context(), instance(), []
    for tries in range(1, 10):
        record = context.retry_later(record, "no answer")
        assert record.tries == tries
        pauses.append(record.wake_ms - NOW)
    assert pauses[:6] == [500, 1000, 2000, 4000, 8000, 16_000]
    assert set(pauses[6:]) == {MAX_RETRY_MS}


def test_pause_of_a_slower_step_is_a_multiple() -> None:
    assert make_context().retry_later(instance(), "x", slower=4).wake_ms == NOW + 2000
    assert make_context().retry_later(instance(tries=1000), "x", slower=4).wake_ms == NOW + 4 * MAX_RETRY_MS


def test_retry_keeps_the_step_and_its_start() -> None:
    record = instance(since_ms=7, reason="r")
    changed = make_context().retry_later(record, ValueError("line one\nline two"))
    assert replace(changed, tries=0, wake_ms=0) == record


@pytest.mark.parametrize(("waited", "pause"), [(0, 20_000), (20_000, 20_000), (45_000, 45_000)])
def test_next_build_message_waits_as_long_as_the_host_was_silent(waited: int, pause: int) -> None:
    assert make_context(recast_ms=20_000).recast_pause(waited) == pause


def test_jitter_spreads_requests_but_not_the_instances_of_one() -> None:
    context = make_context(jitter=1.2)
    assert {context.retry_later(instance(uuid), "x").wake_ms for uuid in "abc"} == {NOW + 600}
    assert context.recast_pause(0) == 24_000
    jitters = [StepContext(context.clients, context.limits, REQUEST, NOW).jitter for _ in range(50)]
    assert all(0.8 <= jitter <= 1.2 for jitter in jitters)
    assert any(first != second for first, second in itertools.pairwise(jitters))
