# SPDX-License-Identifier: Apache-2.0
"""Exchange of stamps with the scheduler."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.stamps import PartitionStamps
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors
from tests.unit.rpcapi.waiting_calls import SECONDS, wait_until, waiting_calls

CTXT = context.new()


def exchange(store: MemoryConductorStore, answer: dict[str, str | None]) -> dict[str, str]:
    """Exchange stamps with a scheduler that answers so; return what it got."""
    sent: dict[str, Any] = {}

    def exchange_stamps(_ctxt: object, stamps: dict[str, str]) -> dict[str, str | None]:
        sent.update(stamps)
        return answer

    PartitionStamps(store, SimpleNamespace(exchange_stamps=exchange_stamps)).exchange(CTXT)  # type: ignore[arg-type]
    return sent


def test_newest_stamps_are_kept_and_sent() -> None:
    store = MemoryConductorStore()
    assert exchange(store, {"a": "5.1.x", "b": "5.7.x"}) == {}
    assert exchange(store, {"a": "5.2.x", "b": "4.9.x"}) == {"a": "5.1.x", "b": "5.7.x"}
    assert store.stamps() == {"a": "5.2.x", "b": "5.7.x"}


def test_partition_without_an_answer_is_an_error_after_the_others_are_kept() -> None:
    store = MemoryConductorStore()
    exchange(store, {"a": "5.1.x", "b": "5.7.x"})
    with pytest.raises(errors.StoreUnavailable, match="partition a does not answer"):
        exchange(store, {"b": "5.8.x"})
    assert store.stamps() == {"a": "5.1.x", "b": "5.8.x"}


def test_partitions_that_have_no_stamps_any_more_are_no_error() -> None:
    store = MemoryConductorStore()
    exchange(store, {"a": "5.1.x"})
    exchange(store, {"a": None})
    assert store.stamps() == {"a": "5.1.x"}


class BlockedScheduler:
    """A scheduler whose exchanges wait for their release."""

    def __init__(self) -> None:
        self.contexts: list[context.RequestContext] = []
        self.release = threading.Semaphore(0)
        self.answers: list[dict[str, str | None] | Exception] = []

    def exchange_stamps(self, ctxt: context.RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        self.contexts.append(ctxt)
        assert self.release.acquire(timeout=SECONDS)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize("failure", [None, errors.StoreUnavailable(why="down")])
def test_calls_that_wait_share_an_exchange_that_begins_after_they_came(failure: Exception | None) -> None:
    scheduler = BlockedScheduler()
    scheduler.answers = [{"a": "5.1.x"}, failure or {"a": "5.2.x"}]
    store = MemoryConductorStore()
    stamps = PartitionStamps(store, scheduler)  # type: ignore[arg-type]
    contexts = [context.new() for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(stamps.exchange, contexts[0])
        wait_until(lambda: len(scheduler.contexts) == 1)
        others = []
        for number, ctxt in enumerate(contexts[1:], 1):
            others.append(pool.submit(stamps.exchange, ctxt))
            wait_until(lambda number=number: waiting_calls(stamps._rounds) == number)  # type: ignore[misc]
        scheduler.release.release()
        assert first.result(SECONDS) is None
        wait_until(lambda: len(scheduler.contexts) == 2)
        assert not any(future.done() for future in others)
        scheduler.release.release()
        assert [future.exception(SECONDS) for future in others] == [failure] * 4
    assert scheduler.contexts == [contexts[0], contexts[-1]]
    assert store.stamps() == {"a": "5.1.x" if failure else "5.2.x"}
