# SPDX-License-Identifier: Apache-2.0
"""The one place that knows eventlet; everything else uses the standard library's threading names."""

from oslo_utils import eventletutils

EVENTLET = "eventlet"
THREADING = "threading"


def patch() -> None:
    """Make the standard library cooperative. Call it before anything else is imported: a module that
    took `select`, `socket` or `threading` names earlier would keep the blocking ones."""
    import eventlet  # noqa: PLC0415 - a process on threads must not load it

    eventlet.monkey_patch()


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
