# SPDX-License-Identifier: Apache-2.0
"""Time limits of properties, by hooks of pytest-timeout."""

import signal
from typing import Any

import pytest


class TimeLimitExceeded(BaseException):
    """Raised in a property that exceeds its time.

    Hypothesis runs the example of an exception that it takes for a failure again, and that has no limit any more.
    """


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """Limit the time of a property; of other tests pytest-timeout does."""
    if not _is_property(item):
        return None

    def exceed(*_: object) -> None:
        raise TimeLimitExceeded(f"after {settings.timeout:g} s")

    signal.signal(signal.SIGALRM, exceed)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout)
    return True


def pytest_timeout_cancel_timer(item: pytest.Item) -> bool | None:
    """End the limit of a property."""
    if not _is_property(item):
        return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return True


def _is_property(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
