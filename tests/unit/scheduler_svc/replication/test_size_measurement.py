# SPDX-License-Identifier: Apache-2.0
"""Measurement of a store: its metrics, its pauses, and the bound of the log."""

from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client import REGISTRY

from rpcapi.bounds import CollectionSize
from scheduler_svc.replication.size_measurement import STORE_SHARE, SizeMeasurement


class FakeStore:
    """A store with these sizes, which take ``seconds`` to measure."""

    partition = "measured"

    def __init__(self, seconds: float = 0.0) -> None:
        self.collections: dict[str, CollectionSize] = {"log": CollectionSize(10, 100, 1000, True)}
        self.trims: list[int] = []
        self.now = 0.0
        self.seconds = seconds

    def sizes(self) -> Mapping[str, CollectionSize]:
        self.now += self.seconds
        return self.collections

    def trim_log(self, length: int) -> None:
        self.trims.append(length)


def make_measurement(store: Any) -> SizeMeasurement:
    return SizeMeasurement(store, lambda: store.now)


def test_sizes_are_metrics() -> None:
    store = FakeStore()
    store.collections["claims"] = CollectionSize(3, 900, 1000)
    make_measurement(store).measure()
    labels = {"partition": "measured", "collection": "claims"}
    figures = [REGISTRY.get_sample_value(f"gantt_store_{name}", labels) for name in ("entries", "bytes", "bound_bytes")]
    assert figures == [3, 900, 1000]


def test_expensive_measurement_is_repeated_less_often() -> None:
    measurement = make_measurement(FakeStore(seconds=0.5))
    assert measurement.pause(5.0) == 5.0
    measurement.measure()
    assert measurement.pause(5.0) == pytest.approx(0.5 * (1 / STORE_SHARE - 1))


def test_log_beyond_its_bound_is_trimmed_to_it() -> None:
    store = FakeStore()
    measurement = make_measurement(store)
    measurement.measure()
    store.collections["log"] = CollectionSize(40, 2000, 1000, True)
    measurement.measure()
    assert store.trims == [20]


def test_full_collection_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    store = FakeStore()
    measurement = make_measurement(store)
    sizes = [CollectionSize(9, 999, 1000), *[CollectionSize(10, 1001, 1000)] * 2, CollectionSize(1, 1, 1000)]
    for size in [*sizes, sizes[1]]:
        store.collections["claims"] = size
        measurement.measure()
    assert caplog.messages == ["Partition measured refuses new work: claims take 1001 of at most 1000 bytes"] * 2
