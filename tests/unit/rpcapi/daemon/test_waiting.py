# SPDX-License-Identifier: Apache-2.0
"""wait_for: answers, patience, and giving up on stop."""

import logging
import threading

import pytest

from rpcapi.daemon.waiting import Stopped, wait_for


class Late:
    """A part that is away for the first ``times`` probes."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> str:
        if self.left:
            self.left -= 1
            raise ConnectionRefusedError("nobody listens")
        return "here"


def test_the_answer_of_a_part_that_is_there_comes_at_once(caplog: pytest.LogCaptureFixture) -> None:
    assert wait_for("Redis", Late(0), threading.Event()) == "here"
    assert caplog.messages == []


def test_each_failed_attempt_is_one_line_with_a_growing_pause(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    assert wait_for("Redis", Late(4), threading.Event(), first=0.01, most=10) == "here"

    # Threads of earlier tests may still look for buses that are gone.
    said = [record.getMessage() for record in caplog.records if record.name == "rpcapi.daemon.waiting"]
    lines, last = said[:-1], said[-1]
    assert [line.split(";")[0] for line in lines] == [
        f"Redis is away (attempt {n}: nobody listens)" for n in (1, 2, 3, 4)
    ]
    assert last == "Redis is there"


def test_stop_ends_the_wait_in_its_pause() -> None:
    stopping = threading.Event()
    ended: list[type[BaseException]] = []

    def wait() -> None:
        try:
            wait_for("Redis", Late(1000), stopping, first=60, most=60)
        except Stopped as exc:
            ended.append(type(exc))

    waiter = threading.Thread(target=wait)
    waiter.start()
    stopping.set()
    waiter.join(10)
    assert ended == [Stopped]


def test_nothing_is_probed_after_stop() -> None:
    stopping = threading.Event()
    stopping.set()
    late = Late(1)

    with pytest.raises(Stopped):
        wait_for("Redis", late, stopping)
    assert late.left == 1


def test_what_does_not_mean_away_goes_to_the_caller() -> None:
    def broken() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        wait_for("Redis", broken, threading.Event())


def test_the_caller_says_what_means_away() -> None:
    calls = []

    def probe() -> int:
        calls.append(1)
        if len(calls) < 2:
            raise LookupError("not yet")
        return len(calls)

    assert wait_for("the store", probe, threading.Event(), away=(LookupError,), first=0.01) == 2
