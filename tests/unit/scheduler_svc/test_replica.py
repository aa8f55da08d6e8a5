# SPDX-License-Identifier: Apache-2.0
"""The replica: loaded once, then never anything but what the log says."""

import threading

import pytest
from prometheus_client import REGISTRY

from rpcapi import errors
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import Candidate, ClaimBatch, Intent
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import SMALL_REQUEST, describe, node


def figure(name, **labels):
    return REGISTRY.get_sample_value(f"gantt_{name}", labels) or 0


NODES = {"a/1": node(), "a/2": node(zone="az1"), "b/1": node(traits=["CUSTOM_X"])}


@pytest.fixture
def store():
    made = MemoryStore("p", log_length=8)
    hosts.join(made, NODES)
    return made


def claim(store, consumer, host):
    epoch, position = store.snapshot().epoch, store.snapshot().position
    intent = Intent(consumer, 1, [Candidate(host)])
    answer = store.prepare(ClaimBatch("r", "p", "u", SMALL_REQUEST, [intent], epoch, position, ttl_ms=60_000))
    assert answer.accepted
    return answer.position


def same(replica, store):
    snapshot = store.snapshot()
    assert replica.table.position == snapshot.position
    assert describe(replica.table) == describe(HostTable.from_snapshot(snapshot))


def test_there_is_no_table_before_the_first_load(store):
    with pytest.raises(errors.NotReady):
        _ = Replica(store).table


def test_a_replica_that_followed_equals_a_snapshot(store):
    replica = Replica(store)
    replica.load()
    claim(store, "vm", "a/1")
    hosts.join(store, {"a/1": node(), "c/1": node({"VCPU": 3})}, sequence=2)  # a/2 is gone, c is new
    version, _ = store.get_state("service", "b")
    store.put_state("service", "b", version, {"enabled": False})
    while replica.table.position < store.snapshot().position:
        replica.step(0)
    same(replica, store)
    assert set(replica.table.rows) >= {"a/1", "b/1", "c/1"}
    assert replica.table.hosts == 3


def test_a_host_that_left_and_came_back_is_not_open_before_its_audit(store):
    replica = Replica(store)
    replica.load()
    store.remove("b")
    store.update_stats("b", incarnation=2, sequence=1, base=0, full=True, nodes={"b/1": node()})
    while replica.log_position.position < store.snapshot().position:
        replica.step(0)
    same(replica, store)
    assert replica.host_counts.awaiting_audit == 1


def test_a_partition_that_is_loaded_anew_leaves_the_others_rows_alone(store):
    other = MemoryStore("q")
    hosts.join(other, {"a/1": node({"VCPU": 3}), "z/1": node(traits=["CUSTOM_Y"], zone="az9")})
    table = HostTable(["q", "p"])
    theirs, mine = Replica(other, table=table), Replica(store, table=table)
    theirs.load()
    mine.load()
    before = describe(table, theirs.number)
    hosts.join(store, {"a/1": node(), "n/1": node({"VCPU": 5, "CUSTOM_GPU": 1}, ["CUSTOM_Z"], "az2")}, sequence=2)
    store.begin_epoch()
    mine.step(0)
    assert describe(table, mine.number) == describe(HostTable.from_snapshot(store.snapshot()))
    assert describe(table, theirs.number) == before
    assert (mine.host_counts.hosts, theirs.host_counts.hosts, table.hosts) == (3, 2, 5)
    assert (mine.host_counts.awaiting_audit, theirs.host_counts.awaiting_audit) == (3, 0)
    with table.reading() as view:
        assert view.within("q").sum() == 2
        assert view.match_names(["a"]).sum() == 3  # of both partitions, gone ones included


def test_a_gap_in_the_log_means_a_fresh_copy(store):
    replica = Replica(store)
    replica.load()
    for number in range(4):
        claim(store, f"vm{number}", "b/1")
    for number in range(8):
        version, _ = store.get_state("service", "a")
        store.put_state("service", "a", version, {"enabled": bool(number % 2)})
    loads = figure("snapshots_total", partition="p")
    replica.step(0)
    assert figure("snapshots_total", partition="p") == loads + 1
    same(replica, store)


def test_a_new_epoch_means_a_fresh_copy_and_is_told(store):
    told = []
    replica = Replica(store, lambda replica: told.append(replica.log_position.epoch))
    replica.load()
    store.begin_epoch()
    replica.step(0)
    same(replica, store)
    assert told == [told[0], store.state.epoch]
    assert replica.host_counts.awaiting_audit == 3


def test_waiting_for_a_position_ends_when_it_is_there_and_not_before(store):
    replica = Replica(store)
    replica.load()
    assert not replica.reach(replica.table.position + 1, 0)
    replica.start()
    try:
        position = claim(store, "vm", "a/1")
        assert replica.reach(position, 10)
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()


class Flaky(MemoryStore):
    """A store that can be taken away."""

    def __init__(self):
        super().__init__("p")
        self.away = threading.Event()
        self.refused = threading.Event()

    def _check(self):
        if self.away.is_set():
            self.refused.set()
            raise errors.StoreUnavailable(why="taken away by the test")

    def snapshot(self, namespaces=()):
        self._check()
        return super().snapshot(namespaces)

    def follow(self, position, block_ms, limit=1000):
        self._check()
        return super().follow(position, min(block_ms, 20), limit)


def test_an_outage_leaves_the_last_table_and_ends_with_a_fresh_one():
    store = Flaky()
    hosts.join(store, NODES)
    replica = Replica(store)
    replica.start()
    try:
        assert replica.reach(store.state.position, 10)
        store.away.set()
        assert store.refused.wait(10)
        position = claim_away(store)
        assert replica.table.hosts == 3
        assert not replica.reach(position, 0.05)
        store.away.clear()
        assert replica.reach(position, 10)
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()


def claim_away(store):
    """Change the store behind the back of a replica that cannot reach it."""
    store.heartbeat("other", "gantt-conductor")
    return store.state.position


def test_a_fault_in_following_does_not_end_it(store, monkeypatch):
    replica = Replica(store)
    replica.load()
    loads = figure("snapshots_total", partition="p")
    monkeypatch.setattr(replica.table, "apply", lambda entry, number: 1 / 0)
    replica.start()
    try:
        position = claim(store, "vm", "a/1")
        assert replica.reach(position, 10)
        assert figure("snapshots_total", partition="p") == loads + 1
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()
