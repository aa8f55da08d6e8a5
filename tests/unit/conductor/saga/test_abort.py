# SPDX-License-Identifier: Apache-2.0
"""The step ABORT: the claims of a deleted or failed instance end, unless its host owns one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.saga.abort import abort, finish_aborted
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.step_contexts import NOW, FakeClaims, instance, make_context

FAILED = {"step": SagaStep.ABORT, "status": InstanceStatus.ERROR, "reason": "No valid host"}
DELETED = {"step": SagaStep.ABORT, "status": InstanceStatus.DELETING, "reason": "old"}


def run(
    record: InstanceRecord, answers: dict[int, tuple[str, str | None]], live: Sequence[dict[str, Any]] = ()
) -> InstanceRecord:
    """Return the record after the step; ``answers`` by attempt, "unknown" for the others. ``live`` are its claims."""
    scripted = FakeClaims(lambda consumer, attempt: answers.get(attempt, ("unknown", None)), live)
    (changed,) = abort(make_context(scripted), [record])
    return changed


@pytest.mark.parametrize("answer", ["aborted", "expired", "released", "ended", "unknown"])
@pytest.mark.parametrize(
    ("values", "status", "reason"), [(FAILED, "ERROR", "No valid host"), (DELETED, "DELETED", None)]
)
def test_instance_is_finished_when_its_claims_have_ended(
    answer: str, values: dict[str, Any], status: str, reason: str | None
) -> None:
    changed = run(instance(**values), {1: (answer, None), 2: (answer, None)})
    assert (changed.status, changed.step, changed.reason) == (status, "done", reason)


@pytest.mark.parametrize("attempt", [1, 2])
def test_host_of_a_confirmed_claim_is_to_terminate_it(attempt: int) -> None:
    """The next attempt may be confirmed too: a conductor died before it recorded that it had prepared it."""
    changed = run(instance(**DELETED, tries=5), {attempt: ("confirmed", "h/n")})
    assert (changed.step, changed.status, changed.attempt, changed.host) == ("terminate", "DELETING", attempt, "h/n")
    assert changed.tries == 5, "a silent host would get its messages at the shortest interval again"


@pytest.mark.parametrize("attempt", [1, 2])
def test_confirmed_claim_of_a_failed_selection_is_settled(attempt: int) -> None:
    changed = run(instance(**FAILED), {attempt: ("confirmed", "h/n")})
    assert (changed.step, changed.status) == ("settle", "BUILDING")


@pytest.mark.parametrize("answer", ["closed", "prepared", "foreign"])
@pytest.mark.parametrize("attempt", [1, 2])
def test_undecided_claim_is_tried_again(answer: str, attempt: int) -> None:
    changed = run(instance(**DELETED), {attempt: (answer, None)})
    assert (changed.step, changed.tries, changed.wake_ms) == ("abort", 1, NOW + 500)


@pytest.mark.parametrize("attempt", [1, 2])
def test_later_attempt_that_is_live_is_aborted_next(attempt: int) -> None:
    claim = {"consumer": "a", "attempt": 5, "host": "h/n", "role": "only", "migration": None}
    source = {"consumer": "a", "attempt": 4, "host": "g/n", "role": "source", "migration": "m"}
    changed = run(instance(**DELETED), {attempt: ("conflict", "h/n")}, [source, claim])
    assert (changed.step, changed.status, changed.attempt, changed.host) == ("abort", "DELETING", 5, "h/n")


def test_later_attempt_that_has_ended_meanwhile_is_aborted_again() -> None:
    changed = run(instance(**DELETED), {1: ("conflict", "h/n")})
    assert (changed.step, changed.attempt, changed.tries) == ("abort", 1, 1)


def test_search_for_the_later_attempt_is_repeated_without_answer() -> None:
    class Unanswered(list[dict[str, Any]]):
        def __iter__(self) -> Iterator[dict[str, Any]]:
            raise messaging.MessagingTimeout("no answer")

    changed = run(instance(**DELETED), {1: ("conflict", "h/n")}, Unanswered())
    assert (changed.step, changed.attempt, changed.tries) == ("abort", 1, 1)


def test_partitions_are_called_separately_and_an_outage_delays_only_its_own() -> None:
    def answer(consumer: str, attempt: int) -> tuple[str, None]:
        if consumer == "a":
            raise messaging.MessagingTimeout("late")
        return "aborted", None

    scripted = FakeClaims(answer)
    instances = [instance(uuid, **DELETED, partition=partition) for uuid, partition in ("ax", "by", "cy")]
    changed = {record.uuid: record for record in abort(make_context(scripted), instances)}
    assert {uuid: record.status for uuid, record in changed.items()} == {
        "a": "DELETING",
        "b": "DELETED",
        "c": "DELETED",
    }
    assert changed["a"].tries == 1
    assert sorted(partition for partition, _ in scripted.calls) == ["x", "y"]


def test_reason_of_a_failure_is_kept() -> None:
    assert finish_aborted(instance(**FAILED)).reason == "No valid host"


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("is_certain", [True, False], ids=["certain", "uncertain"])
def test_later_attempt_after_a_failed_selection_is_settled_if_the_record_is_uncertain(
    attempt: int, is_certain: bool
) -> None:
    claim = {"consumer": "a", "attempt": 5, "host": "h/n", "role": "only", "migration": None}
    answers = {attempt: ("conflict", "h/n")}
    scripted = FakeClaims(lambda consumer, number: answers.get(number, ("unknown", None)), [claim])
    context = replace(make_context(scripted), may_repeat=False)
    record = instance(**FAILED, certain_epoch=context.epoch - (not is_certain))
    (changed,) = abort(context, [record])
    assert (changed.step, changed.status) == (("abort", "ERROR") if is_certain else ("settle", "BUILDING"))
