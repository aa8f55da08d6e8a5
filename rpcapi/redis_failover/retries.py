# SPDX-License-Identifier: Apache-2.0
"""Retries of Redis commands. Verbs are idempotent, so a verb without a response may be sent again."""

import time
from collections.abc import Callable
from typing import TypeVar

import redis
import tenacity
from redis.exceptions import TryAgainError

from rpcapi.redis_failover.connection import is_not_primary

T = TypeVar("T")

ATTEMPTS = 3
LONGEST_PAUSE = 0.5  # seconds
_UNANSWERED_ERRORS = (redis.ConnectionError, redis.TimeoutError, TryAgainError)


def is_retryable(error: BaseException) -> bool:
    return isinstance(error, _UNANSWERED_ERRORS) or (isinstance(error, redis.RedisError) and is_not_primary(error))


def run_with_retries(
    operation: Callable[[], T],
    *extra_errors: type[Exception],
    wait_seconds: float | None = None,
    on_retry: Callable[[], None] = lambda: None,
) -> T:
    """Return the result of ``operation`` after at most ATTEMPTS attempts, or any number within ``wait_seconds``."""
    end = None if wait_seconds is None else time.monotonic() + wait_seconds

    def should_retry(error: BaseException) -> bool:
        return is_retryable(error) or isinstance(error, extra_errors)

    try:
        return operation()
    except redis.RedisError as error:
        if not should_retry(error) or _is_past(end):
            raise
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS - 1) if end is None else lambda state: _is_past(end),
        wait=tenacity.wait_random_exponential(multiplier=0.05, max=LONGEST_PAUSE),
        retry=tenacity.retry_if_exception(should_retry),
        before=lambda _state: on_retry(),
        reraise=True,
    )
    return retrying(operation)


def _is_past(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end
