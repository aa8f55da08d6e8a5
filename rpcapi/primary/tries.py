# SPDX-License-Identifier: Apache-2.0
"""The few tries that one verb has: each is idempotent, so that one which got no answer may be sent again."""

from collections.abc import Callable
from typing import TypeVar

import redis
import tenacity
from redis.exceptions import TryAgainError

from rpcapi.primary.connection import ELSEWHERE

T = TypeVar("T")

TRIES = 3
LONGEST_PAUSE = 0.5  # seconds
NO_ANSWER: tuple[type[Exception], ...] = (redis.ConnectionError, redis.TimeoutError, TryAgainError, *ELSEWHERE)


def run(once: Callable[[], T], *more: type[Exception]) -> T:
    """Return what ``once`` does, tried again where no answer came, or one of ``more``; raises the last error."""
    kinds = (*NO_ANSWER, *more)
    try:
        return once()
    except kinds:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(TRIES - 1),
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=LONGEST_PAUSE),
            retry=tenacity.retry_if_exception_type(kinds),
            reraise=True,
        )
        return retrying(once)
