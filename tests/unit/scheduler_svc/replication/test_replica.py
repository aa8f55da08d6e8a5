# SPDX-License-Identifier: Apache-2.0
"""The replica: loaded from a snapshot, then updated from the log."""

import threading

import pytest
from prometheus_client import REGISTRY

from rpcapi import errors
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import CARRIED_PAUSE, Replica
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import SMALL_REQUEST, describe, node


def figure(name, **labels):
    return REGISTRY.get_sample_value(f"gantt_{name}", labels) or 0


NODES = {"a/1": node(), "a/2": node(zone="az1"), "b/1": node(traits=["CUSTOM_X"])}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr("scheduler_svc.replication.replica.BLOCK_MS", 10)


@pytest.fixture
def store():
    created = MemoryStore("p", log_length=8)
    hosts.join(created, NODES)
    return created


def claim(store, consumer, host):
    epoch, position = store.snapshot().epoch, store.snapshot().position
    intent = Intent(consumer, 1, [Candidate(host)])
    answer = store.prepare(ClaimBatch("r", "p", "u", SMALL_REQUEST, [intent], epoch, position, ttl_ms=60_000))
    assert answer.accepted
    return answer.position


def same(replica, store):
    snapshot = store.snapshot()
    assert replica.table.partitions[0].position == snapshot.position
    assert describe(replica.table) == describe(HostTable.from_snapshot(snapshot))


def test_table_is_not_ready_before_first_load(store):
    with pytest.raises(errors.NotReady):
        _ = Replica(store).table


def test_replica_after_following_equals_snapshot(store):
    replica = Replica(store)
    replica.load()
    claim(store, "vm", "a/1")
    hosts.join(store, {"a/1": node(), "c/1": node({"VCPU": 3})}, sequence=2)  # a/2 is gone, c is new
    version, _ = store.get_state("service", "b")
    store.put_state("service", "b", version, {"enabled": False})
    while replica.table.partitions[0].position < store.snapshot().position:
        replica.step(0)
    same(replica, store)
    assert set(replica.table.partitions[0].rows) >= {"a/1", "b/1", "c/1"}
    assert replica.table.hosts == 3


def test_returning_host_is_closed_until_its_audit(store):
    replica = Replica(store)
    replica.load()
    store.remove("b")
    store.update_stats("b", HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes={"b/1": node()}))
    while replica.log_position.position < store.snapshot().position:
        replica.step(0)
    same(replica, store)
    assert replica.host_counts.awaiting_audit == 1


def test_reload_of_a_partition_keeps_rows_of_others(store):
    other = MemoryStore("q")
    hosts.join(other, {"a/1": node({"VCPU": 3}), "z/1": node(traits=["CUSTOM_Y"], zone="az9")})
    table = HostTable(["q", "p"])
    other_rows, own_rows = Replica(other, table=table), Replica(store, table=table)
    other_rows.load()
    own_rows.load()
    before = describe(table, other_rows.number)
    hosts.join(store, {"a/1": node(), "n/1": node({"VCPU": 5, "CUSTOM_GPU": 1}, ["CUSTOM_Z"], "az2")}, sequence=2)
    store.begin_epoch()
    own_rows.step(0)
    assert describe(table, own_rows.number) == describe(HostTable.from_snapshot(store.snapshot()))
    assert describe(table, other_rows.number) == before
    assert (own_rows.host_counts.hosts, other_rows.host_counts.hosts, table.hosts) == (3, 2, 5)
    assert (own_rows.host_counts.awaiting_audit, other_rows.host_counts.awaiting_audit) == (3, 0)
    with table.reading() as view:
        assert view.in_partition("q").sum() == 2
        assert view.match_names(["a"]).sum() == 2  # of both partitions


def test_gap_in_the_log_loads_a_snapshot(store):
    replica = Replica(store)
    replica.load()
    for number in range(4):
        claim(store, f"vm{number}", "b/1")
    for number in range(8):
        version, _ = store.get_state("service", "a")
        store.put_state("service", "a", version, {"enabled": bool(number % 2)})
    loads = figure("replica_snapshots_total", partition="p")
    replica.step(0)
    assert figure("replica_snapshots_total", partition="p") == loads + 1
    same(replica, store)


def test_new_epoch_loads_a_snapshot_and_calls_on_loaded(store):
    loads = []
    replica = Replica(store, lambda replica: loads.append(replica.log_position.epoch))
    replica.load()
    store.begin_epoch()
    replica.step(0)
    same(replica, store)
    assert loads == [loads[0], store.state.epoch]
    assert replica.host_counts.awaiting_audit == 3


@pytest.mark.parametrize("reload", [True, False])
def test_hosts_that_an_emptied_store_does_not_have_are_absent_until_they_return(store, reload):
    replica = Replica(store)
    replica.load()
    emptied = MemoryStore("p", log_length=8)
    hosts.join(emptied, {"a/1": node()})
    store.state = emptied.state
    store.begin_epoch()
    replica.load()
    assert replica.absent_hosts == {"b"}
    hosts.join(store, {"b/1": node()})
    if reload:
        replica.load()
    while replica.log_position.position < store.snapshot().position:
        replica.step(0)
    assert replica.absent_hosts == set()


def test_reach_returns_when_position_is_applied(store):
    replica = Replica(store)
    replica.load()
    assert not replica.reach(replica.table.partitions[0].position + 1, 0)
    replica.start()
    try:
        position = claim(store, "vm", "a/1")
        assert replica.reach(position, 10)
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()


def claim_as_worker(replica, store, consumer, host):
    """Claim as the replica's own worker, which applies the answer."""
    position = claim(store, consumer, host)
    replica.table.apply_used({host: store.snapshot().used[host]}, position)
    return position


def test_step_tells_entries_of_own_claims_from_others(store):
    replica = Replica(store)
    replica.load()
    assert not replica.step(0)
    claim_as_worker(replica, store, "own", "a/1")
    assert replica.step(0)
    claim(store, "others", "a/1")
    assert not replica.step(0)
    claim_as_worker(replica, store, "own2", "a/1")
    hosts.join(store, {"c/1": node(), "d/1": node()})
    assert not replica.step(0)
    same(replica, store)


def test_step_that_read_the_last_own_claim_before_its_answer_brings_nothing_new(store):
    replica = Replica(store)
    replica.load()
    claim_as_worker(replica, store, "own", "a/1")
    claim(store, "unanswered", "b/1")
    assert replica.step(0)
    same(replica, store)


def test_reach_ends_the_pause_after_own_claims(store, monkeypatch):
    monkeypatch.setattr("scheduler_svc.replication.replica.RESTING_PAUSE", 3600)
    replica = Replica(store)
    replica.load()
    claim_as_worker(replica, store, "own", "a/1")
    replica.start()
    try:
        assert replica.reach(store.state.position, 10)
        assert replica.reach(claim(store, "others", "b/1"), 10)
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()


def test_follower_that_for_api_pauses_after_claims_of_others_until_one_is_needed(store, monkeypatch):
    monkeypatch.setattr("scheduler_svc.replication.replica.RESTING_PAUSE", 3600)
    replica = Replica(store, for_api=True)
    claim(store, "first", "a/1")
    assert replica.run_once() == 3600
    replica.start()
    try:
        assert replica.reach(claim(store, "second", "b/1"), 10)
        assert replica.reach(claim(store, "third", "a/2"), 10)
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()


def test_pause_after_a_failure_lasts_although_a_position_is_needed(store, monkeypatch):
    replica = Replica(store, for_api=True)
    replica.load()
    wakes = []
    monkeypatch.setattr(replica, "wake", lambda: wakes.append("woken"))
    replica.handle_failure(errors.StoreUnavailable(why="taken away by the test"))
    assert not replica.reach(replica.log_position.position + 1, 0.01)
    assert wakes == []


def follow(store, replica):
    return store.follow(replica.log_position.position, 0)


def test_carried_entries_are_applied_as_those_of_the_log(store):
    replica = Replica(store)
    replica.run_once()
    claim(store, "vm", "a/1")
    hosts.join(store, {"c/1": node()})
    version, _ = store.get_state("service", "b")
    store.put_state("service", "b", version, {"enabled": False})
    replica.apply_carried(follow(store, replica), {replica.log_position.epoch})
    same(replica, store)


def test_follower_rests_while_claims_carry_the_log(store, monkeypatch):
    replica = Replica(store)
    replica.run_once()
    for name in ("first", "second"):
        claim(store, name, "a/1")
        replica.apply_carried(follow(store, replica), {replica.log_position.epoch})
        monkeypatch.setattr(store, "follow", None)  # not called
        assert replica.run_once() == CARRIED_PAUSE
        monkeypatch.undo()
        assert figure("replica_position", partition="p") == store.state.position
    claim(store, "others", "a/1")
    replica.run_once()
    same(replica, store)


def test_reach_ends_the_pause_of_a_follower_whose_log_is_carried(store, monkeypatch):
    monkeypatch.setattr("scheduler_svc.replication.replica.CARRIED_PAUSE", 3600)
    replica = Replica(store)
    replica.run_once()
    claim(store, "carried", "a/1")
    replica.apply_carried(follow(store, replica), {replica.log_position.epoch})
    replica.start()
    try:
        assert replica.reach(claim(store, "others", "b/1"), 10)
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()


@pytest.mark.parametrize("loss", ["another epoch", "an epoch entry", "no answer", "as many as an answer carries"])
def test_what_the_follower_alone_may_apply_is_left_to_it(store, monkeypatch, loss):
    replica = Replica(store)
    replica.run_once()
    epochs = {replica.log_position.epoch}
    claim(store, "vm", "a/1")
    match loss:
        case "another epoch":
            epochs = {replica.log_position.epoch + 1}
        case "an epoch entry":
            store.begin_epoch()
        case "no answer":
            epochs = set()
        case _:
            monkeypatch.setattr("scheduler_svc.replication.replica.CARRIED_ENTRIES", 1)
    before = replica.log_position
    replica.apply_carried(follow(store, replica), epochs)
    assert replica.log_position == before
    replica.run_once()
    same(replica, store)


def test_entries_carried_and_followed_in_any_order_give_the_same_table(store):
    replica = Replica(store)
    replica.run_once()
    for number in range(3):
        claim(store, f"vm{number}", "a/1")
    entries = follow(store, replica)
    replica.apply_carried(entries[:2], {replica.log_position.epoch})
    replica.step(0)
    replica.apply_carried(entries, {replica.log_position.epoch})
    same(replica, store)


def test_carried_entry_that_cannot_be_applied_fails_no_claim(store, monkeypatch, caplog):
    replica = Replica(store)
    replica.run_once()
    claim(store, "vm", "a/1")
    entries = follow(store, replica)
    with monkeypatch.context() as patch:
        patch.setattr(replica.table, "apply", lambda entry, number: 1 / 0)
        replica.apply_carried(entries, {replica.log_position.epoch})
    assert "Cannot apply the log entries of partition p" in caplog.text
    replica.run_once()
    same(replica, store)


def test_carried_entries_wait_for_no_load(store):
    replica = Replica(store)
    replica.run_once()
    claim(store, "vm", "a/1")
    entries, before = follow(store, replica), replica.log_position

    class Loading(MemoryStore):
        def snapshot(self, namespaces=()):
            carrying = threading.Thread(target=replica.apply_carried, args=(entries, {before.epoch}))
            carrying.start()
            carrying.join(10)
            assert not carrying.is_alive()
            assert replica.log_position == before
            return super().snapshot(namespaces)

    store.__class__ = Loading
    replica.load()
    store.__class__ = MemoryStore
    same(replica, store)


def test_departed_names_are_freed_although_claims_carry_the_log(store, monkeypatch):
    monkeypatch.setattr("scheduler_svc.core.table.partition.MIN_DEPARTURES", 1)
    replica = Replica(store)
    replica.run_once()
    loads = figure("replica_snapshots_total", partition="p")
    for number in range(4):
        hosts.join(store, {f"a/{number + 3}": node()}, sequence=number + 3)
        replica.apply_carried(follow(store, replica), {replica.log_position.epoch})
    assert replica.unchecked_table.partitions[0].needs_compaction
    replica.run_once()
    assert figure("replica_snapshots_total", partition="p") == loads + 1
    same(replica, store)


class Flaky(MemoryStore):
    """A store with simulated outages."""

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


def test_outage_keeps_last_table_and_ends_with_a_snapshot():
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
    """Change the store while the replica cannot reach it."""
    store.heartbeat("other", "gantt-conductor")
    return store.state.position


def test_error_in_follower_does_not_end_it(store, monkeypatch):
    replica = Replica(store)
    replica.load()
    loads = figure("replica_snapshots_total", partition="p")
    monkeypatch.setattr(replica.table, "apply", lambda entry, number: 1 / 0)
    replica.start()
    try:
        position = claim(store, "vm", "a/1")
        assert replica.reach(position, 10)
        assert figure("replica_snapshots_total", partition="p") == loads + 1
        same(replica, store)
    finally:
        replica.stop()
        replica.wait()
