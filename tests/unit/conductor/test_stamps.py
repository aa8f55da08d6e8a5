# SPDX-License-Identifier: Apache-2.0
"""Exchange of stamps with the scheduler."""

from types import SimpleNamespace
from typing import Any

import pytest

from conductor.stamps import PartitionStamps
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors

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
