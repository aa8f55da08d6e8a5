# SPDX-License-Identifier: Apache-2.0
"""Suspends the collection of garbage: the search for reference cycles among all objects of the process."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_suspended() -> Iterator[None]:
    """Suspend it for all threads; afterwards it is as it was before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
