# SPDX-License-Identifier: Apache-2.0
"""The only module that uses eventlet; all others use the standard library's threading."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from oslo_context import context
from oslo_utils import eventletutils

EVENTLET = "eventlet"
THREADING = "threading"

T = TypeVar("T")


def patch() -> None:
    """Monkey-patch the standard library before any other import: names imported earlier stay blocking."""
    import eventlet  # noqa: PLC0415 - a process with native threads must not load it

    eventlet.monkey_patch()
    _isolate_request_contexts()
    _end_joins_at_their_timeout()


def _isolate_request_contexts() -> None:
    """Give each green thread its own request context.

    oslo.log is imported before the patch, so its context store is a native thread-local shared by all green threads.
    """
    context._request_store = threading.local()


def _end_joins_at_their_timeout() -> None:
    """Make ``Thread.join`` return at its timeout; since Python 3.13 eventlet raises its own Timeout."""
    import eventlet  # noqa: PLC0415 - see patch
    from eventlet.green import thread  # noqa: PLC0415 - see patch

    handle: Any = getattr(thread, "_ThreadHandle", None)
    if handle is None:
        return
    wait = handle.join

    def join(self: Any, timeout: float | None = None) -> None:
        with eventlet.Timeout(timeout, False):
            wait(self)

    handle.join = join


def patch_for(executor: str) -> None:
    """Call `patch()` if the configured executor is eventlet; raises ValueError for an unknown name."""
    if executor == EVENTLET:
        patch()
    elif executor != THREADING:
        raise ValueError(f"Unknown executor '{executor}': use '{EVENTLET}' or '{THREADING}'.")


def is_patched() -> bool:
    return bool(eventletutils.is_monkey_patched("thread"))


def executor() -> str:
    """Return the executor of this process, with which its RPC servers must be started."""
    return EVENTLET if is_patched() else THREADING


def run_in_worker_pool(work: Callable[[], T]) -> T:
    """Run CPU-bound work off the green threads, whose locks and logs it must not use."""
    if not is_patched():
        return work()
    from eventlet import tpool  # noqa: PLC0415 - see patch

    result: T = tpool.execute(work)
    return result
