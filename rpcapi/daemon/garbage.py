# SPDX-License-Identifier: Apache-2.0
"""Suspension of Python's cyclic garbage collector."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_suspended() -> Iterator[None]:
    """Disable the garbage collector inside the block, for all threads, then restore its state."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
