# SPDX-License-Identifier: Apache-2.0
"""The few tries that one verb has: each is idempotent, so that one which got no answer may be sent again."""

from collections.abc import Callable
from typing import TypeVar

import redis
import tenacity
from redis.exceptions import TryAgainError

from rpcapi.primary.connection import is_elsewhere

T = TypeVar("T")

TRIES = 3
LONGEST_PAUSE = 0.5  # seconds
_NO_ANSWER = (redis.ConnectionError, redis.TimeoutError, TryAgainError)


def got_no_answer(error: BaseException) -> bool:
    """Tell whether the server is away, or not yet or no more what it has to be, and was not asked for nonsense."""
    return isinstance(error, _NO_ANSWER) or (isinstance(error, redis.RedisError) and is_elsewhere(error))


def run(once: Callable[[], T], *more: type[Exception]) -> T:
    """Return what ``once`` does, tried again where no answer came, or one of ``more``; raises the last error."""

    def again(error: BaseException) -> bool:
        return got_no_answer(error) or isinstance(error, more)

    try:
        return once()
    except redis.RedisError as error:
        if not again(error):
            raise
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(TRIES - 1),
        wait=tenacity.wait_random_exponential(multiplier=0.05, max=LONGEST_PAUSE),
        retry=tenacity.retry_if_exception(again),
        reraise=True,
    )
    return retrying(once)
