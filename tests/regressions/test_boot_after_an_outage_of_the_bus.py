# SPDX-License-Identifier: Apache-2.0
"""A boot waits for hosts that could not report: an outage of the bus silences all of them at once."""

import pytest

from rpcapi.resources.claims import Answer
from tests.regressions.test_large_requests import OneRequest, Worker, add_host
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import LONG_MS, StorePartition

HOSTS = ["h1", "h2", "h3"]
AGENT = "gantt-compute"
DOWN_MS = 60_000


@pytest.fixture
def partition() -> StorePartition:
    """A partition whose hosts are alive, and have been silent for longer than they may."""
    created = memory_partition()
    for host in HOSTS:
        add_host(created, host, 4)
    created.wait_until(created.time() + DOWN_MS + 1)
    created.store.reap(dead_after_ms=DOWN_MS, tombstone_ms=LONG_MS)
    return created


def test_boot_succeeds_when_the_hosts_report_again(partition: StorePartition) -> None:
    one_request = OneRequest(Worker(partition), 1)
    one_request.run(3_000)
    for host in HOSTS:
        partition.store.heartbeat(host, AGENT)
    one_request.run(60_000)
    assert one_request.states() == {("BUILDING", 1): 1}, one_request.records[0].reason


def test_hosts_that_report_again_get_servers(partition: StorePartition) -> None:
    for host in HOSTS:
        partition.store.heartbeat(host, AGENT)
    one_request = OneRequest(Worker(partition), 1)
    one_request.run(3_000)
    assert one_request.states() == {("BUILDING", 1): 1}
    assert partition.prepare("another", "h1").answer is Answer.PREPARED
