# SPDX-License-Identifier: Apache-2.0
"""Hosts that fall silent at once stay up: an outage of the bus is likelier than the loss of all machines.

Otherwise the return of the bus finds every host down, and every boot sent meanwhile refused.
"""

import pytest
from prometheus_client import REGISTRY

from scheduler_svc.replication.bus_suspicion import BusSuspicion
from scheduler_svc.replication.reaper import Reaper, ReapLimits
from scheduler_svc.store.namespaces import SERVICE
from tests.regressions.test_large_requests import add_host
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import LONG_MS, StorePartition

HOSTS = ["h1", "h2", "h3", "h4"]
AGENT = "gantt-compute"
DOWN_MS = 60_000


class Cluster:
    """Hosts that report to a worker, whose reaper runs after each of them."""

    def __init__(self, partition: StorePartition, hosts: list[str]) -> None:
        self._partition = partition
        for host in hosts:
            add_host(partition, host, 4)
        self.restart()

    def restart(self) -> None:
        """Start the worker again; it has received no report yet."""
        partition = self._partition
        self._silence_ms = 0
        suspicion = BusSuspicion(partition.store, lambda: self._silence_ms / 1000, lambda: partition.time() / 1000)
        self._reaper = Reaper(partition.store, lambda: ReapLimits(DOWN_MS, LONG_MS), suspicion.spares_hosts)

    def report(self, *hosts: str) -> None:
        for host in hosts:
            self._partition.store.heartbeat(host, AGENT)
        self._silence_ms = 0

    def wait(self, milliseconds: int, *reporting: str) -> None:
        """Let time pass in steps of ten seconds, in which these hosts report."""
        for _ in range(milliseconds // 10_000):
            self._partition.wait_until(self._partition.time() + 10_000)
            self._silence_ms += 10_000
            if reporting:
                self.report(*reporting)
            self._reaper.reap()

    def up(self) -> list[str]:
        services, _ = self._partition.store.list_state(SERVICE)
        return [name for name, _, document in services if document["alive"]]

    def is_suspected(self) -> bool:
        reason = f"no host of partition {self._partition.store.partition} reports, the message bus is suspected"
        return bool(REGISTRY.get_sample_value("gantt_worker_not_ready", {"reason": reason}))


@pytest.fixture
def partition() -> StorePartition:
    """A partition without hosts."""
    return memory_partition()


def test_hosts_stay_up_while_none_reports(partition: StorePartition) -> None:
    cluster = Cluster(partition, HOSTS)
    cluster.wait(30_000, *HOSTS)
    assert not cluster.is_suspected()
    cluster.wait(300_000)
    assert (cluster.up(), cluster.is_suspected()) == (HOSTS, True)


def test_each_host_has_its_full_time_when_the_bus_is_back(partition: StorePartition) -> None:
    cluster = Cluster(partition, HOSTS)
    cluster.wait(300_000)
    cluster.wait(50_000, "h1", "h2")
    assert (cluster.up(), cluster.is_suspected()) == (HOSTS, False)
    cluster.wait(20_000, "h1", "h2")
    assert cluster.up() == ["h1", "h2"]


def test_worker_that_starts_after_an_outage_gives_each_host_its_full_time(partition: StorePartition) -> None:
    cluster = Cluster(partition, HOSTS)
    cluster.wait(300_000)
    cluster.restart()
    cluster.wait(60_000, "h1", "h2")
    assert cluster.up() == HOSTS
    cluster.wait(20_000, "h1", "h2")
    assert cluster.up() == ["h1", "h2"]


def test_silent_host_is_down_while_others_report(partition: StorePartition) -> None:
    cluster = Cluster(partition, HOSTS)
    cluster.wait(70_000, "h4")
    assert (cluster.up(), cluster.is_suspected()) == (["h4"], False)


def test_pauses_between_rare_reports_keep_no_lost_host_up(partition: StorePartition) -> None:
    """Given hosts that report every 40 s, though they are down after 60 s, and one that is lost."""
    cluster = Cluster(partition, HOSTS)
    for _ in range(10):
        cluster.wait(30_000)
        cluster.wait(10_000, "h1", "h2", "h3")
    assert cluster.up() == ["h1", "h2", "h3"]


def test_outage_that_begins_within_the_time_after_another_is_suspected_too(partition: StorePartition) -> None:
    cluster = Cluster(partition, HOSTS)
    cluster.wait(300_000)
    cluster.wait(20_000, *HOSTS)
    cluster.wait(300_000)
    cluster.wait(50_000, "h1", "h2")
    assert cluster.up() == HOSTS
    cluster.wait(20_000, "h1", "h2")
    assert cluster.up() == ["h1", "h2"]


def test_worker_that_hears_nothing_itself_asks_the_store(partition: StorePartition) -> None:
    """Given hosts whose reports go to other workers."""
    cluster = Cluster(partition, HOSTS)
    for _ in range(7):
        partition.store.heartbeat("h1", AGENT)
        cluster.wait(10_000)
    assert (cluster.up(), cluster.is_suspected()) == (["h1"], False)


def test_a_few_hosts_may_be_lost_together(partition: StorePartition) -> None:
    cluster = Cluster(partition, HOSTS[:2])
    cluster.wait(70_000)
    assert cluster.up() == []
