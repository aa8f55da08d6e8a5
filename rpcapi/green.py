# SPDX-License-Identifier: Apache-2.0
"""The one place that knows eventlet; everything else uses the standard library's threading names."""

import threading
from collections.abc import Callable
from typing import TypeVar

from oslo_context import context
from oslo_utils import eventletutils

EVENTLET = "eventlet"
THREADING = "threading"

T = TypeVar("T")


def patch() -> None:
    """Make the standard library cooperative. Call it before anything else is imported: a module that
    took `select`, `socket` or `threading` names earlier would keep the blocking ones."""
    import eventlet  # noqa: PLC0415 - a process on threads must not load it

    eventlet.monkey_patch()
    _part_contexts()


def _part_contexts() -> None:
    """Give each green thread a request context of its own.

    A daemon has read its options, and so imported oslo.log, before it patches: the contexts' store is a native
    thread-local by then, which all green threads share, and every log line would carry the latest request's id.
    """
    context._request_store = threading.local()


def patch_for(executor: str) -> None:
    """Call `patch()` when the configured executor is eventlet, do nothing when it is threading.

    :raises ValueError: for any other name
    """
    if executor == EVENTLET:
        patch()
    elif executor != THREADING:
        raise ValueError(f"Unknown executor '{executor}': use '{EVENTLET}' or '{THREADING}'.")


def is_patched() -> bool:
    """Whether threads of this process are green."""
    return bool(eventletutils.is_monkey_patched("thread"))


def executor() -> str:
    """The executor that fits how this process runs: what RPC servers must be started with."""
    return EVENTLET if is_patched() else THREADING


def aside(work: Callable[[], T]) -> T:
    """Do long work that never waits, in a thread of the system where threads are green: the others go on meanwhile.

    It must use nothing that green threads share, neither locks nor the log.
    """
    if not is_patched():
        return work()
    from eventlet import tpool  # noqa: PLC0415 - see patch

    return tpool.execute(work)
