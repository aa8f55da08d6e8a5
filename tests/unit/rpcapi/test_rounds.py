# SPDX-License-Identifier: Apache-2.0
"""Rounds: what arrives while a round is served makes the next one, in turns between owners; nobody waits for ever."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby

import pytest

from rpcapi.rounds import RoundLimits, Rounds, _WaitingCall
from tests.unit.rpcapi.waiting_calls import SECONDS, wait_until, waiting_calls

WIDE = RoundLimits(size=100, per_owner=100)


class HeldServer:
    """Serves rounds of texts; the first round waits until ``release`` is set."""

    def __init__(self, answer: Callable[[str], str | BaseException] = str.upper) -> None:
        self.rounds: list[Sequence[str]] = []
        self.began, self.release = threading.Event(), threading.Event()
        self.concurrent = self.most = 0
        self._answer = answer
        self._lock = threading.Lock()

    def serve(self, texts: Sequence[str]) -> list[str | BaseException]:
        with self._lock:
            self.concurrent += 1
            self.most = max(self.most, self.concurrent)
            self.rounds.append(texts)
        self.began.set()
        assert self.release.wait(SECONDS)
        with self._lock:
            self.concurrent -= 1
        return [self._answer(text) for text in texts]


class Crowd:
    """Threads that call, each after the one before it waits."""

    def __init__(self, server: HeldServer, limits: RoundLimits = WIDE) -> None:
        self.rounds = Rounds[str, str](server.serve, limits)
        self._server = server
        self._pool = ThreadPoolExecutor(64)

    def call(self, text: str, owner: str = "a", size: int = 1) -> Future[str]:
        is_first, before = not self._server.rounds, waiting_calls(self.rounds)
        future = self._pool.submit(self.rounds.call, text, owner, size)
        if is_first:
            assert self._server.began.wait(SECONDS)
        else:
            wait_until(lambda: waiting_calls(self.rounds) != before)
        return future


@pytest.fixture
def server() -> HeldServer:
    return HeldServer()


def test_a_lone_call_is_served_at_once(server: HeldServer) -> None:
    server.release.set()
    rounds = Rounds[str, str](server.serve, WIDE)
    assert [rounds.call("x", "a"), rounds.call("y", "a")] == ["X", "Y"]
    assert server.rounds == [["x"], ["y"]]


def test_what_arrives_during_a_round_makes_the_next_one(server: HeldServer) -> None:
    crowd = Crowd(server)
    futures = [crowd.call(text) for text in "abcd"]
    server.release.set()
    assert [future.result(SECONDS) for future in futures] == ["A", "B", "C", "D"]
    assert server.rounds == [["a"], ["b", "c", "d"]]


def test_several_rounds_are_served_at_once_and_what_waits_makes_the_next(server: HeldServer) -> None:
    crowd = Crowd(server, RoundLimits(size=100, per_owner=100, at_once=2))
    futures = [crowd.call("a")]
    futures.append(crowd._pool.submit(crowd.rounds.call, "b", "a"))
    wait_until(lambda: len(server.rounds) == 2)
    futures += [crowd.call(text) for text in "cdef"]
    server.release.set()
    assert [future.result(SECONDS) for future in futures] == ["A", "B", "C", "D", "E", "F"]
    assert server.rounds == [["a"], ["b"], ["c", "d", "e", "f"]]


def test_owners_take_turns(server: HeldServer) -> None:
    crowd = Crowd(server, RoundLimits(size=6, per_owner=4))
    calls = [("first", "x"), *((f"a{number}", "a") for number in range(8)), ("b0", "b"), ("b1", "b")]
    futures = [crowd.call(text, owner) for text, owner in calls]
    server.release.set()
    for future in futures:
        future.result(SECONDS)
    assert server.rounds[1:] == [["a0", "b0", "a1", "b1", "a2", "a3"], ["a4", "a5", "a6", "a7"]]


def test_an_owner_has_its_share_while_another_one_waits(server: HeldServer) -> None:
    crowd = Crowd(server, RoundLimits(size=100, per_owner=2))
    futures = [crowd.call("first"), *(crowd.call(f"a{number}") for number in range(6)), crowd.call("b0", "b")]
    server.release.set()
    for future in futures:
        future.result(SECONDS)
    assert server.rounds[1:] == [["a0", "b0", "a1"], ["a2", "a3", "a4", "a5"]]


def test_calls_count_by_their_sizes_and_a_large_one_is_not_overtaken_for_ever(server: HeldServer) -> None:
    crowd = Crowd(server, RoundLimits(size=10, per_owner=4))
    futures = [crowd.call("first"), crowd.call("a0", size=4), crowd.call("b0", "b", size=9)]
    futures += [crowd.call(f"a{number}") for number in range(1, 5)]
    server.release.set()
    for future in futures:
        future.result(SECONDS)
    assert server.rounds[1:] == [["a0"], ["b0", "a1"], ["a2", "a3", "a4"]]


def test_a_call_that_is_larger_than_a_round_is_served(server: HeldServer) -> None:
    server.release.set()
    assert Rounds[str, str](server.serve, RoundLimits(size=1, per_owner=1)).call("x", "a", size=9) == "X"


def test_an_error_is_that_of_its_call_alone() -> None:
    server = HeldServer(lambda text: KeyError(text) if text == "b" else text.upper())
    crowd = Crowd(server)
    futures = [crowd.call(text) for text in "abc"]
    server.release.set()
    assert [futures[0].result(SECONDS), futures[2].result(SECONDS)] == ["A", "C"]
    with pytest.raises(KeyError, match="b"):
        futures[1].result(SECONDS)


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(1)], ids=repr)
def test_an_error_of_a_round_reaches_all_its_calls_and_no_others(error: BaseException) -> None:
    server = HeldServer()
    began: list[Sequence[str]] = []

    def serve(texts: Sequence[str]) -> list[str | BaseException]:
        began.append(texts)
        if len(began) == 2:
            raise error
        return server.serve(texts)

    crowd = Crowd(server, RoundLimits(size=2, per_owner=2))
    crowd.rounds._serve = serve
    futures = [crowd.call(text) for text in "abcde"]
    server.release.set()
    assert [type(futures[number].exception(SECONDS)) for number in (1, 2)] == [type(error)] * 2
    assert [futures[number].result(SECONDS) for number in (0, 3, 4)] == ["A", "D", "E"]


class Killed(BaseException):
    """What ends a green thread."""


def kill(monkeypatch: pytest.MonkeyPatch, text: str, wait: Callable[[_WaitingCall[str, str]], object]) -> None:
    """Let the thread that calls with ``text`` be killed when it has waited."""
    sleep = _WaitingCall.sleep

    def sleep_until_killed(call: _WaitingCall[str, str]) -> None:
        if call.item != text:
            sleep(call)
            return
        wait(call)
        raise Killed

    monkeypatch.setattr(_WaitingCall, "sleep", sleep_until_killed)


def test_a_killed_thread_leaves_its_turn_to_the_next(server: HeldServer, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = threading.Event()
    kill(monkeypatch, "b", lambda _: killed.wait(SECONDS))
    crowd = Crowd(server)
    first, victim, last = (crowd.call(text) for text in "abc")
    killed.set()
    assert isinstance(victim.exception(SECONDS), Killed)
    server.release.set()
    assert (first.result(SECONDS), last.result(SECONDS)) == ("A", "C")
    assert server.rounds == [["a"], ["c"]]


def test_a_killed_leader_appoints_the_next(server: HeldServer, monkeypatch: pytest.MonkeyPatch) -> None:
    kill(monkeypatch, "b", _WaitingCall.sleep)  # once it is woken to lead
    crowd = Crowd(server, RoundLimits(size=1, per_owner=1))
    first, victim, last = (crowd.call(text) for text in "abc")
    server.release.set()
    assert isinstance(victim.exception(SECONDS), Killed)
    assert (first.result(SECONDS), last.result(SECONDS)) == ("A", "C")
    assert server.rounds == [["a"], ["c"]]


@pytest.mark.parametrize("at_once", [1, 3])
def test_many_threads_get_their_own_answers(server: HeldServer, at_once: int) -> None:
    server.release.set()
    rounds = Rounds[str, str](server.serve, RoundLimits(size=5, per_owner=2, at_once=at_once))

    def work(thread: int) -> list[str]:
        return [rounds.call(f"t{thread} {number}", f"owner{thread % 3}") for number in range(100)]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(work, range(16)))
    assert answers == [[f"T{thread} {number}" for number in range(100)] for thread in range(16)]
    assert server.most <= at_once
    served = [text for texts in server.rounds for text in texts]
    assert len(served) == len(set(served)) == 1600
    assert max(map(len, server.rounds)) <= 5
    for thread in range(16):  # in the order of their arrival
        own = [text for text in served if text.startswith(f"t{thread} ")]
        assert own == [f"t{thread} {number}" for number in range(100)]
    assert not list(groupby(rounds._waiting))
