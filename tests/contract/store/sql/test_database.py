# SPDX-License-Identifier: Apache-2.0
"""Concurrent transactions, and errors of unavailable databases."""

import threading
from collections.abc import Callable

import pytest

from rpcapi import errors
from scheduler_svc.store.sql import SqlStore
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import intent


def run_concurrently(work: list[Callable[[], None]]) -> None:
    """Run each step in a thread, and raise the first error."""
    begin = threading.Barrier(len(work))
    raised: list[BaseException] = []

    def run(step: Callable[[], None]) -> None:
        begin.wait(30)
        try:
            step()
        except Exception as error:  # raised again below, in the test's thread
            raised.append(error)

    threads = [threading.Thread(target=run, args=(step,), daemon=True) for step in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not raised, raised
    assert not any(thread.is_alive() for thread in threads)


def test_concurrent_claims_do_not_overcommit(fresh: str) -> None:
    partition = sql_partition(fresh)
    partition.add_host("h1", amounts={"VCPU": 20, "MEMORY_MB": 64 * 20})
    stores = [SqlStore(fresh, partition.store.partition) for _ in range(3)]
    claimed: list[str] = []

    def decide(number: int) -> None:
        for turn in range(10):
            batch = partition.batch(intent(f"c{number}.{turn}", "h1"))
            # None of these may fail because of conflicts with the others.
            claimed.extend(number_.consumer for number_ in stores[number].prepare(batch).prepared if number_.host)

    run_concurrently([lambda number_=number: decide(number_) for number in range(3)])
    assert len(claimed) == 20 == len(partition.store.claims()[0])
    assert not partition.check().excess
    for store in stores:
        store.close()
    partition.store.close()


@pytest.mark.parametrize(
    "url", ["postgresql://gantt:hidden@127.0.0.1:1/gantt", "sqlite:////nowhere-at-all/store.sqlite"]
)
def test_unavailable_error_does_not_contain_the_password(url: str) -> None:
    with pytest.raises(errors.StoreUnavailable) as caught:
        SqlStore(url, "p1").snapshot()
    assert "hidden" not in str(caught.value) and "\n" not in str(caught.value)
