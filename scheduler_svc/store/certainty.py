# SPDX-License-Identifier: Apache-2.0
"""Refusals of writes by the Placement API whose first run may have been carried out."""

import threading
from collections.abc import Callable
from typing import TypeVar

from rpcapi import errors
from scheduler_svc.store.providers.changes import Refusal

T = TypeVar("T")


class RepeatCounter(threading.local):
    """Counts for each thread what it has sent again since no answer came: the first run may have been carried out."""

    count = 0

    def add(self) -> None:
        """Count one more."""
        self.count += 1


def certain(repeats: RepeatCounter, write: Callable[[], T]) -> T:
    """Return the answer of a write that depends on what the client has read.

    What gets no answer is sent again. Where its first run was carried out, the client's generation, or the name of a
    new provider, does not fit any more, and the refusal would say that the write has not been carried out: raises
    StoreUnavailable instead, after which the client reads again.
    """
    before = repeats.count
    answer = write()
    if isinstance(answer, Refusal) and repeats.count != before:
        why = "it did not answer in between, and the request may have been carried out: read again before a repetition"
        raise errors.StoreUnavailable(why=why)
    return answer
