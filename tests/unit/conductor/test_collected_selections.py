# SPDX-License-Identifier: Apache-2.0
"""Selections that wait for the scheduler are sent in one call; each has its own answer, and is never lost."""

import threading
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_config import cfg

from conductor.collected_selections import CALLS_AT_ONCE, MAX_INSTANCES, CollectingSchedulerAPI
from rpcapi import context, errors, objects
from rpcapi.context import RequestContext
from tests.unit.rpcapi.waiting_calls import SECONDS, wait_until, waiting_calls

SPEC = objects.RequestSpec.of(resources={"VCPU": 1})


def selections(host: str) -> objects.Selections:
    values = {"partition": "p", "attempt": 1, "deadline_ms": 0, "epoch": 1, "position": 1}
    return objects.Selections.build([host], [[]], **values)


class HeldBackend:
    """A scheduler whose calls wait for ``release``; it answers each request with a host of its id.

    ``refused`` has errors by request id, ``failures`` the errors of the next batches.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[RequestContext, str, Any]] = []
        self.release = threading.Event()
        self.refused: dict[str, errors.GanttError] = {}
        self.failures: list[Exception] = []

    def call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        self.calls.append((ctxt, version, values))
        assert self.release.wait(SECONDS)
        if method == "select_destinations":
            if error := self.refused.get(str(ctxt.request_id)):
                raise error
            return selections(f"host-of-{ctxt.request_id}")
        if self.failures:
            raise self.failures.pop(0)
        requests = values["requests"]
        refusals = [self.refused.get(request_id) for request_id in requests.request_ids]
        answers = [request_id for request_id in requests.request_ids if request_id not in self.refused]
        return objects.SelectionAnswers.of(
            selections=[selections(f"host-of-{request_id}") for request_id in answers],
            served=[
                None if error else answers.index(name)
                for name, error in zip(requests.request_ids, refusals, strict=True)
            ],
            codes=[error and error.code for error in refusals],
            reasons=[error.sentence if error else "" for error in refusals],
            details=[error.kwargs if error else {} for error in refusals],
        )

    def batches(self) -> list[list[str]]:
        """Return the request ids of each call."""
        return [
            values["requests"].request_ids if "requests" in values else [str(ctxt.request_id)]
            for ctxt, _, values in self.calls
        ]


class Callers:
    """Threads that select, of which the first CALLS_AT_ONCE are under way alone."""

    def __init__(self) -> None:
        self.backend = HeldBackend()
        self.api = CollectingSchedulerAPI(cfg.ConfigOpts(), None, self.backend)
        self._pool = ThreadPoolExecutor(128)
        self.first = [self.select(f"first{number}", wait=False) for number in range(CALLS_AT_ONCE)]
        wait_until(lambda: len(self.backend.calls) == CALLS_AT_ONCE)

    def select(self, name: str, *, wait: bool = True, **values: Any) -> Future[objects.Selections]:
        """Select in a thread, which waits for its turn."""
        ctxt = context.new(values.pop("project", "p"), "u", request_id=name)
        if (timeout := values.pop("timeout", None)) is not None:
            ctxt = ctxt.with_timeout(timeout)
        before = waiting_calls(self.api._rounds)
        uuids = values.pop("uuids", None) or [str(uuid.uuid4())]
        future = self._pool.submit(self.api.select_destinations, ctxt, SPEC, uuids, **values)
        if wait:
            wait_until(lambda: waiting_calls(self.api._rounds) > before)
        return future


@pytest.fixture
def callers() -> Callers:
    return Callers()


def test_what_waits_is_sent_in_one_call(callers: Callers) -> None:
    futures = [callers.select(name, project=f"project-{name}", timeout=60.0, fresh=name == "b") for name in "abc"]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == [f"host-of-{name}" for name in "abc"]
    assert callers.backend.batches() == [*([f"first{number}"] for number in range(CALLS_AT_ONCE)), ["a", "b", "c"]]
    ctxt, version, values = callers.backend.calls[-1]
    requests = values["requests"]
    assert version == "1.0"
    assert requests.projects == [f"project-{name}" for name in "abc"]
    assert requests.users == ["u"] * 3
    assert requests.fresh == [False, True, False]
    assert ctxt.deadline == max(requests.deadlines)
    assert [future.result(SECONDS).host(0) for future in callers.first]


def test_each_request_gets_the_error_that_it_would_get_alone(callers: Callers) -> None:
    no_host = errors.NoValidHost(reason="2 full", reasons={"full": 2})
    conflict = errors.ClaimConflict(consumer="c", attempt=2, why="another", host="h", partition="west")
    callers.backend.refused = {"a": no_host, "c": conflict}
    futures = [callers.select(name) for name in "abc"]
    callers.backend.release.set()
    assert futures[1].result(SECONDS).host(0) == "host-of-b"
    for future, error in ((futures[0], no_host), (futures[2], conflict)):
        answered = future.exception(SECONDS)
        assert type(answered) is type(error)
        assert (answered.kwargs, answered.sentence) == (error.kwargs, error.sentence)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "error", [messaging.MessagingTimeout(), errors.Unavailable(what="The bus", why="down")], ids=repr
)
def test_a_call_without_an_answer_is_none_for_each(callers: Callers, error: Exception) -> None:
    callers.backend.failures = [error]
    futures = [callers.select(name) for name in "ab"]
    callers.backend.release.set()
    assert [type(future.exception(SECONDS)) for future in futures] == [type(error)] * 2


def test_what_cannot_be_sent_together_is_sent_alone(callers: Callers) -> None:
    callers.backend.failures = [errors.InvalidCount("too many", most=1)]
    futures = [callers.select(name) for name in "ab"]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == ["host-of-a", "host-of-b"]
    assert sorted(callers.backend.batches()[-2:]) == [["a"], ["b"]]


def test_one_instance_in_two_selections_is_sent_alone(callers: Callers) -> None:
    same = [str(uuid.uuid4())]
    futures = [callers.select("a", uuids=same), callers.select("b", uuids=same), *map(callers.select, "cd")]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == [f"host-of-{name}" for name in "abcd"]
    assert ["c", "d"] in callers.backend.batches()
    assert sorted(batch for batch in callers.backend.batches() if batch in (["a"], ["b"])) == [["a"], ["b"]]


def test_selections_of_the_same_instance_alone_are_sent_alone(callers: Callers) -> None:
    same = [str(uuid.uuid4())]
    futures = [callers.select(name, uuids=same) for name in "ab"]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == ["host-of-a", "host-of-b"]
    assert sorted(callers.backend.batches()[CALLS_AT_ONCE:]) == [["a"], ["b"]]


def test_a_large_selection_waits_for_nobody(callers: Callers) -> None:
    many = [str(uuid.uuid4()) for _ in range(MAX_INSTANCES)]
    future = callers.select("large", wait=False, uuids=many)
    wait_until(lambda: ["large"] in callers.backend.batches())
    callers.backend.release.set()
    assert future.result(SECONDS).host(0) == "host-of-large"


def test_a_batch_has_no_more_instances_than_fit(callers: Callers) -> None:
    futures = [callers.select(f"r{number}", uuids=[str(uuid.uuid4()) for _ in range(40)]) for number in range(3)]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == [f"host-of-r{number}" for number in range(3)]
    assert sorted(callers.backend.batches()[CALLS_AT_ONCE:]) == [["r0"], ["r1"], ["r2"]]


def test_selections_sent_in_one_call_have_their_own_moves(callers: Callers) -> None:
    move = {"role": "destination", "migration": str(uuid.uuid4()), "source_attempt": 1}
    futures = [callers.select(name, moves=[move] if name == "b" else ()) for name in "abc"]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == [f"host-of-{name}" for name in "abc"]
    assert callers.backend.calls[-1][2]["requests"].moves == [[], [move], []]


def test_selections_sent_alone_have_their_moves(callers: Callers) -> None:
    move = {"role": "destination", "migration": str(uuid.uuid4()), "source_attempt": 1}
    callers.backend.failures = [errors.InvalidCount("too many", most=1)]
    futures = [callers.select(name, moves=[move]) for name in "ab"]
    callers.backend.release.set()
    assert [future.result(SECONDS).host(0) for future in futures] == ["host-of-a", "host-of-b"]
    assert [values["moves"] for _, _, values in callers.backend.calls[-2:]] == [[move]] * 2
