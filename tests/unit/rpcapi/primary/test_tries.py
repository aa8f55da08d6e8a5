# SPDX-License-Identifier: Apache-2.0
"""How often a verb is sent, and what it is not sent again for."""

import pytest
import redis
from redis.exceptions import TryAgainError

from rpcapi.primary import tries


class Verb:
    """Fails with what it is given, one after the other, and then answers."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.sent = 0

    def __call__(self) -> str:
        self.sent += 1
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


AWAY = [
    redis.ConnectionError("gone"),
    redis.TimeoutError("late"),
    TryAgainError("moving"),
    redis.ReadOnlyError("a replica"),
    redis.ResponseError("NOREPLICAS Not enough good replicas to write."),
]


def test_an_answer_is_asked_for_once() -> None:
    verb = Verb()
    assert (tries.run(verb), verb.sent) == ("answer", 1)


@pytest.mark.parametrize("why", AWAY, ids=lambda why: type(why).__name__)
def test_what_got_no_answer_is_sent_again(why: Exception) -> None:
    verb = Verb(*[why] * (tries.TRIES - 1))
    assert (tries.run(verb), verb.sent) == ("answer", tries.TRIES)


def test_after_the_last_try_its_error_is_raised() -> None:
    verb = Verb(*[redis.ConnectionError(str(number)) for number in range(10)])
    with pytest.raises(redis.ConnectionError, match=str(tries.TRIES - 1)):
        tries.run(verb)
    assert verb.sent == tries.TRIES


@pytest.mark.parametrize("before", [[], [redis.ConnectionError("gone")]], ids=["at once", "on the second try"])
@pytest.mark.parametrize("why", [redis.ResponseError("wrong number of arguments"), ValueError("READONLY no")])
def test_what_was_refused_is_not_sent_again(before: list[Exception], why: Exception) -> None:
    verb = Verb(*before, why)
    with pytest.raises(type(why)):
        tries.run(verb)
    assert verb.sent == len(before) + 1


def test_more_may_be_worth_another_try() -> None:
    verb = Verb(redis.WatchError("another was faster"))
    with pytest.raises(redis.WatchError):
        tries.run(verb)
    verb = Verb(redis.WatchError("another was faster"))
    assert (tries.run(verb, redis.WatchError), verb.sent) == ("answer", 2)
