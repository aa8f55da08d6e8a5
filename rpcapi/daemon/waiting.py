# SPDX-License-Identifier: Apache-2.0
"""Waits for dependencies that are unreachable at start, such as broker or Redis."""

import threading
from collections.abc import Callable
from typing import TypeVar

import tenacity
from oslo_log import log

LOG = log.getLogger(__name__)
Result = TypeVar("Result")


class ShutdownRequested(Exception):
    """Raised when the service is stopped while a dependency is unreachable."""


def wait_for(
    dependency: str,
    probe: Callable[[], Result],
    stopping: threading.Event,
    *,
    retry_on: tuple[type[Exception], ...] = (OSError,),
    first_pause: float = 0.5,
    max_pause: float = 15.0,
) -> Result:
    """Call ``probe`` until it succeeds and return its result; raises ShutdownRequested once ``stopping`` is set."""

    def log_retry(state: tenacity.RetryCallState) -> None:
        if state.outcome is not None and state.next_action is not None:
            why = state.outcome.exception()
            LOG.warning(
                "%s is unreachable (attempt %d: %s); retrying in %.1f s",
                dependency,
                state.attempt_number,
                str(why) or type(why).__name__,
                state.next_action.sleep,
            )

    def attempt() -> Result:
        if stopping.is_set():
            raise ShutdownRequested(dependency)
        return probe()

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(retry_on),
        wait=tenacity.wait_exponential(multiplier=first_pause, max=max_pause) + tenacity.wait_random(0, first_pause),
        sleep=tenacity.sleep_using_event(stopping),
        before_sleep=log_retry,
    )
    answer = retrying(attempt)
    if retrying.statistics.get("attempt_number", 1) > 1:
        LOG.info("%s is reachable", dependency)
    return answer
