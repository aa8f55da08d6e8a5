# SPDX-License-Identifier: Apache-2.0
"""Waiting for a part that is away, such as the broker or Redis at start."""

import threading
from collections.abc import Callable
from typing import TypeVar

import tenacity
from oslo_log import log

LOG = log.getLogger(__name__)
Answer = TypeVar("Answer")


class Stopped(Exception):
    """Raised when the service was told to stop before what it waited for came."""


def wait_for(
    what: str,
    probe: Callable[[], Answer],
    stopping: threading.Event,
    *,
    away: tuple[type[Exception], ...] = (OSError,),
    first: float = 0.5,
    most: float = 15.0,
) -> Answer:
    """Call ``probe`` until it returns, and return its answer.

    ``away`` lists the exceptions that mean "not there yet"; any other one goes to the caller. Each failed
    attempt is one log line; the pause grows from ``first`` to ``most`` seconds, with jitter so that workers
    do not call in step. Raises Stopped as soon as ``stopping`` is set.
    """

    def say(state: tenacity.RetryCallState) -> None:
        if state.outcome is not None and state.next_action is not None:
            why = state.outcome.exception()
            LOG.warning(
                "%s is away (attempt %d: %s); next try in %.1f s",
                what,
                state.attempt_number,
                str(why) or type(why).__name__,
                state.next_action.sleep,
            )

    def attempt() -> Answer:
        if stopping.is_set():
            raise Stopped(what)
        return probe()

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(away),
        wait=tenacity.wait_exponential(multiplier=first, max=most) + tenacity.wait_random(0, first),
        sleep=tenacity.sleep_using_event(stopping),
        before_sleep=say,
    )
    answer = retrying(attempt)
    if retrying.statistics.get("attempt_number", 1) > 1:
        LOG.info("%s is there", what)
    return answer
