# SPDX-License-Identifier: Apache-2.0
"""The only module that uses eventlet. All others use the standard library's threading."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from oslo_context import context
from oslo_utils import eventletutils

EVENTLET = "eventlet"
THREADING = "threading"

T = TypeVar("T")


def patch() -> None:
    """Monkey-patch the standard library. Call it before any other import, or imported names keep blocking."""
    import eventlet  # noqa: PLC0415 - processes with native threads must not load it

    eventlet.monkey_patch()
    _isolate_request_contexts()
    _end_joins_at_their_timeout()


def _isolate_request_contexts() -> None:
    """Replace oslo.context's store, a native thread-local that all green threads would share."""
    context._request_store = threading.local()


def _end_joins_at_their_timeout() -> None:
    """Make ``Thread.join`` return at its timeout: since Python 3.13 eventlet raises its own Timeout."""
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
    if executor == EVENTLET:
        patch()
    elif executor != THREADING:
        raise ValueError(f"Unknown executor '{executor}': use '{EVENTLET}' or '{THREADING}'.")


def is_patched() -> bool:
    return bool(eventletutils.is_monkey_patched("thread"))


def executor() -> str:
    return EVENTLET if is_patched() else THREADING


def run_in_worker_pool(work: Callable[[], T]) -> T:
    """Run CPU-bound work off the green threads. It must not use their locks or log."""
    if not is_patched():
        return work()
    from eventlet import tpool  # noqa: PLC0415 - see patch

    result: T = tpool.execute(work)
    return result
