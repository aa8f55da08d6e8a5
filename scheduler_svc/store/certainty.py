# SPDX-License-Identifier: Apache-2.0
"""Retried writes of the Placement API: a refusal is not certain if an earlier try may have succeeded."""

import threading
from collections.abc import Callable
from typing import TypeVar

from rpcapi import errors
from scheduler_svc.store.providers.changes import Refusal

T = TypeVar("T")


class RepeatCounter(threading.local):
    """Per-thread count of requests sent again because no answer came."""

    count = 0

    def add(self) -> None:
        self.count += 1


def certain(repeats: RepeatCounter, write: Callable[[], T]) -> T:
    """Run a generation-checked write and return its answer.

    A request without an answer is sent again. If the first try had succeeded, the second would be refused for its stale
    generation or a duplicate name, which is misleading. Raises StoreUnavailable instead, so that the client reads
    again.
    """
    before = repeats.count
    answer = write()
    if isinstance(answer, Refusal) and repeats.count != before:
        why = "it did not answer in between, and the request may have been carried out: read again before a repetition"
        raise errors.StoreUnavailable(why=why)
    return answer
