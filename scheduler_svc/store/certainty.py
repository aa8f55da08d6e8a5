# SPDX-License-Identifier: Apache-2.0
"""Repeated generation-checked writes: a refusal of the repetition does not show whether the first try succeeded."""

import threading
from collections.abc import Callable
from typing import TypeVar

from rpcapi import errors
from scheduler_svc.store.providers.changes import Refusal

T = TypeVar("T")


class RepeatCounter(threading.local):
    """Per-thread count of requests that were sent again because no answer came."""

    count = 0

    def add(self) -> None:
        self.count += 1


def certain(repeats: RepeatCounter, write: Callable[[], T]) -> T:
    """Run a generation-checked write and return its answer.

    Raises StoreUnavailable if a repeated write was refused: the first try may have succeeded and so caused the refusal.
    """
    before = repeats.count
    answer = write()
    if isinstance(answer, Refusal) and repeats.count != before:
        why = "the connection was lost, and the request may have been carried out: read again before repeating it"
        raise errors.StoreUnavailable(why=why)
    return answer
