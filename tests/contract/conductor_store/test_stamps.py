# SPDX-License-Identifier: Apache-2.0
"""Stamps of partitions: the newest is stored, in memory and in Redis."""

import pytest

from tests.support.conductor.bench import StoreWithClock

STAMP = "1700000000000.41.code"


@pytest.mark.parametrize("later", ["1700000000000.42.x", "1700000000001.3.x", "1700000000000.1000000.x"])
def test_later_stamp_replaces_an_earlier_one_and_not_the_reverse(bench: StoreWithClock, later: str) -> None:
    assert bench.store.stamps() == {}
    bench.store.keep_stamps({"p1": STAMP})
    bench.store.keep_stamps({"p1": later, "p2": STAMP})
    assert bench.store.stamps() == {"p1": later, "p2": STAMP}
    bench.store.keep_stamps({"p1": STAMP})
    bench.store.keep_stamps({"p2": "nonsense"})
    assert bench.store.stamps() == {"p1": later, "p2": STAMP}


def test_stamps_of_a_restored_store_are_those_of_its_backup(bench: StoreWithClock) -> None:
    bench.store.keep_stamps({"p1": STAMP})
    mark = bench.mark()
    bench.store.keep_stamps({"p1": "1700000000001.1.x"})
    bench.forget_since(mark)
    assert bench.store.stamps() == {"p1": STAMP}
