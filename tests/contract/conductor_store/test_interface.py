# SPDX-License-Identifier: Apache-2.0
"""The interface of the conductor's store and its implementations."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from conductor.store.interface import PAGE, ConductorStore
from conductor.store.memory import MemoryConductorStore
from conductor.store.redis import RedisConductorStore
from rpcapi import errors
from tests.support.conductor.bench import StoreWithClock, request

VERBS = sorted(ConductorStore.__abstractmethods__)


@pytest.mark.parametrize("store", [MemoryConductorStore, RedisConductorStore])
@pytest.mark.parametrize("verb", VERBS)
def test_implementations_take_the_same_arguments(store: type[ConductorStore], verb: str) -> None:
    assert arguments(getattr(store, verb)) == arguments(getattr(ConductorStore, verb))


def arguments(verb: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Return (name, default) of each argument; the name of a positional one is free."""
    return [
        (value.name if value.kind is value.KEYWORD_ONLY else "", value.default)
        for value in inspect.signature(verb).parameters.values()
    ]


def test_page_has_at_most_the_records_of_one_script(bench: StoreWithClock) -> None:
    uuids = [f"{number:04}" for number in range(PAGE + 1)]
    bench.store.record(request(), uuids)
    first = bench.store.page(None, 10 * PAGE, deleted=False)
    assert [record.uuid for record in first.records] == uuids[:PAGE]
    rest = bench.store.page(first.marker, 10 * PAGE, deleted=False)
    assert ([record.uuid for record in rest.records], rest.marker) == (uuids[PAGE:], None)


@pytest.mark.parametrize("marker", ["", "x", "-1", "\u00b2", "\u0661", "9" * 19, "1\n"])
def test_invalid_marker_is_rejected(bench: StoreWithClock, marker: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="is not a marker"):
        bench.store.page(marker, 1, deleted=False)
