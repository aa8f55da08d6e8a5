# SPDX-License-Identifier: Apache-2.0
"""Retries of verbs: their number, and errors that are not retried."""

from types import SimpleNamespace

import pytest
import redis
from redis.exceptions import TryAgainError

from rpcapi.redis_failover import retries


class Verb:
    """Raises the given errors in turn, then returns."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


UNANSWERED = [
    redis.ConnectionError("gone"),
    redis.TimeoutError("late"),
    TryAgainError("moving"),
    redis.ReadOnlyError("a replica"),
    redis.ResponseError("NOREPLICAS Not enough good replicas to write."),
]


def test_successful_verb_is_sent_once() -> None:
    verb = Verb()
    assert (retries.run_with_retries(verb), verb.calls) == ("answer", 1)


@pytest.mark.parametrize("error", UNANSWERED, ids=lambda error: type(error).__name__)
def test_unanswered_verb_is_retried(error: Exception) -> None:
    verb = Verb(*[error] * (retries.ATTEMPTS - 1))
    assert (retries.run_with_retries(verb), verb.calls) == ("answer", retries.ATTEMPTS)


def test_error_of_the_last_attempt_is_raised() -> None:
    verb = Verb(*[redis.ConnectionError(str(number)) for number in range(10)])
    with pytest.raises(redis.ConnectionError, match=str(retries.ATTEMPTS - 1)):
        retries.run_with_retries(verb)
    assert verb.calls == retries.ATTEMPTS


@pytest.mark.parametrize(
    "earlier_errors", [[], [redis.ConnectionError("gone")]], ids=["at once", "on the second attempt"]
)
@pytest.mark.parametrize("error", [redis.ResponseError("wrong number of arguments"), ValueError("READONLY no")])
def test_rejected_verb_is_not_retried(earlier_errors: list[Exception], error: Exception) -> None:
    verb = Verb(*earlier_errors, error)
    with pytest.raises(type(error)):
        retries.run_with_retries(verb)
    assert verb.calls == len(earlier_errors) + 1


def test_extra_errors_are_retried() -> None:
    verb = Verb(redis.WatchError("another was faster"))
    with pytest.raises(redis.WatchError):
        retries.run_with_retries(verb)
    verb = Verb(redis.WatchError("another was faster"))
    assert (retries.run_with_retries(verb, redis.WatchError), verb.calls) == ("answer", 2)


def test_verb_is_retried_for_the_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, *(100.0 + number for number in range(10))])
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(retries, "LONGEST_PAUSE", 0)
    verb = Verb(*[redis.ConnectionError("gone")] * 20)
    with pytest.raises(redis.ConnectionError):
        retries.run_with_retries(verb, wait_seconds=5)
    assert verb.calls == 6  # after which 0, 1, 2, 3, 4 and 5 s have passed


def test_verb_that_hung_for_the_whole_time_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 105.0])
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: next(times)))
    verb = Verb(redis.TimeoutError("late"))
    with pytest.raises(redis.TimeoutError):
        retries.run_with_retries(verb, wait_seconds=5)
    assert verb.calls == 1
