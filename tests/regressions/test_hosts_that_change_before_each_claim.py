# SPDX-License-Identifier: Apache-2.0
"""A request waits while its hosts change between each decision and its claim: none of them was ever unfit.

An operator's script that rewrites an aggregate many times a second must cost boots time, and no server.
"""

from collections.abc import Sequence

import pytest

from scheduler_svc.core.records import BatchOutcomes, ClaimBatch
from tests.regressions.test_large_requests import OneRequest, Worker, add_host
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import StorePartition

HOSTS = ["h1", "h2", "h3"]


class RewrittenAggregate:
    """An aggregate of all hosts whose zone another caller changes before each claim, while ``changes`` is true."""

    def __init__(self, partition: StorePartition, monkeypatch: pytest.MonkeyPatch) -> None:
        self.changes = True
        self.writes = 0
        self._version = 0
        self._store = partition.store
        self._prepare_all = partition.store.prepare_all
        monkeypatch.setattr(partition.store, "prepare_all", self._change_first)

    def _change_first(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        if self.changes:
            self.writes += 1
            document = {"hosts": HOSTS, "metadata": {"availability_zone": f"z{self.writes % 2}"}}
            self._version = self._store.put_state("aggregate", "1", self._version, document)
        return self._prepare_all(batches, log_after)


def test_boot_outlasts_writes_to_an_aggregate(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = memory_partition(namespaces=["aggregate"])
    for host in HOSTS:
        add_host(partition, host, 4)
    aggregate = RewrittenAggregate(partition, monkeypatch)
    one_request = OneRequest(Worker(partition), 1)
    one_request.run(5_000)
    assert aggregate.writes
    assert one_request.states() == {("SCHEDULING", 1): 1}, one_request.records[0].reason
    aggregate.changes = False
    one_request.run(60_000)
    assert one_request.states() == {("BUILDING", 1): 1}
