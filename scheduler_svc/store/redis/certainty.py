# SPDX-License-Identifier: Apache-2.0
"""Refusals of writes by the Placement API whose first run may have been carried out."""

from collections.abc import Callable
from typing import TypeVar

from rpcapi import errors
from scheduler_svc.store.providers.changes import Refusal
from scheduler_svc.store.redis.connect import RedisConnection

T = TypeVar("T")


def certain(connection: RedisConnection, write: Callable[[], T]) -> T:
    """Return the answer of a write that depends on what the client has read.

    A script that gets no answer is sent again. Where its first run was carried out, the client's generation, or the
    name of a new provider, does not fit any more, and the refusal would say that the write has not been carried out:
    raises StoreUnavailable instead, after which the client reads again.
    """
    before = connection.repeats
    answer = write()
    if isinstance(answer, Refusal) and connection.repeats != before:
        why = "it did not answer in between, and the request may have been carried out: read again before a repetition"
        raise errors.StoreUnavailable(why=why)
    return answer
