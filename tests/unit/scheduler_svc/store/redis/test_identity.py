# SPDX-License-Identifier: Apache-2.0
"""Server identity, restart and failover: which changes begin an epoch."""

import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from devstack.servers.redis import RedisServer
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.identity import NO_REPLICATION_ID, RedisIdentity
from scheduler_svc.store.redis.keys import prefix
from tests.unit.scheduler_svc.store.backends import partition_on
from tests.unit.scheduler_svc.store.store_partition import StorePartition, intent


@dataclass
class Servers:
    """One set of keys on simulated servers, with the identity that a test sets."""

    client: redis.Redis
    partition: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    says: dict[str, str] = field(default_factory=dict)

    def become(self, run_id: str, replid: str, replid2: str = NO_REPLICATION_ID) -> None:
        self.says = {
            "role": "master",
            "run_id": run_id,
            "master_replid": replid,
            "master_replid2": replid2,
            "aof_enabled": "1",
        }

    def ask(self, *command: Any) -> Any:
        return self.says if command[0] == "INFO" else self.client.execute_command(*command)

    def turn_back(self, positions: int) -> None:
        self.client.hincrby(prefix(self.partition) + "meta", "position", -positions)

    def identity(self) -> RedisIdentity:
        return RedisIdentity(self.partition, "always", 1000)


@pytest.fixture
def servers(redis_server: RedisServer) -> Servers:
    servers = Servers(redis_server.client())
    servers.become("A", "R1")
    return servers


def test_same_server_keeps_the_epoch(servers: Servers) -> None:
    epoch = servers.identity().check(servers.ask)
    assert servers.identity().check(servers.ask) == epoch


def test_promoted_server_begins_an_epoch(servers: Servers) -> None:
    epoch = servers.identity().check(servers.ask)
    servers.become("B", "R2", "R1")
    assert servers.identity().check(servers.ask) > epoch


def test_server_that_was_a_replica_meanwhile_begins_an_epoch(servers: Servers) -> None:
    # No check happened while the second server was primary: its data still name the first, now promoted again
    epoch = servers.identity().check(servers.ask)
    servers.become("A", "R3", "R2")
    later = servers.identity().check(servers.ask)
    assert later > epoch
    assert servers.identity().check(servers.ask) == later


def test_new_replication_id_alone_keeps_the_epoch(servers: Servers) -> None:
    # A primary without replicas gets a new replica
    epoch = servers.identity().check(servers.ask)
    servers.become("A", "R2")
    assert servers.identity().check(servers.ask) == epoch


def test_server_behind_the_observed_position_begins_an_epoch(servers: Servers) -> None:
    observer = servers.identity()
    epoch = observer.check(servers.ask)
    observer.observe(epoch, 100)
    later = observer.check(servers.ask)
    assert later > epoch and observer.take_epoch_change()
    # Workers that observed less accept the epoch, and it is begun once
    assert servers.identity().check(servers.ask) == observer.check(servers.ask) == later


def test_new_epoch_exceeds_epochs_of_other_servers(servers: Servers) -> None:
    # An old primary answered for a moment and got a new epoch; then it became a replica of the new primary
    observer = servers.identity()
    epoch = observer.check(servers.ask)
    observer.observe(epoch + 1_000_000, 0)
    assert observer.check(servers.ask) > epoch + 1_000_000


def test_racing_workers_begin_a_single_epoch(servers: Servers) -> None:
    first, second = servers.identity(), servers.identity()
    for identity in (first, second):
        identity.observe(identity.check(servers.ask), 100)
    epochs: list[int] = []

    def first_is_faster(*command: Any) -> Any:
        if command[0] == "EVAL" and not epochs:
            epochs.append(first.check(servers.ask))
        return servers.ask(*command)

    assert second.check(first_is_faster) == epochs[0]
    assert (first.take_epoch_change(), second.take_epoch_change()) == (True, False)


def test_position_observed_during_the_check_is_not_a_loss(servers: Servers) -> None:
    observer = servers.identity()
    epoch = observer.check(servers.ask)

    def others_go_on(*command: Any) -> Any:
        answer = servers.ask(*command)
        if command[0] == "HMGET":
            observer.observe(epoch, 1_000)
        return answer

    assert observer.check(others_go_on) == epoch


def test_replica_is_rejected(servers: Servers) -> None:
    servers.says["role"] = "slave"
    with pytest.raises(redis.ReadOnlyError):
        servers.identity().check(servers.ask)


def restarted(server: RedisServer, durability: Any) -> tuple[StorePartition, int, Any]:
    """Return a partition after a restart of its server, the epoch before, and a batch decided before."""
    partition = partition_on(server, RedisStore(server.url(), "cell1", durability=durability))
    partition.add_host("h1")
    partition.hold("c1", "h1")
    batch = partition.batch(intent("c2", "h1"))
    epoch, _begun = partition.store.check_identity()
    server.kill()
    server.start()
    return partition, epoch, batch


def test_restart_with_possible_loss_begins_an_epoch(make_redis: Any) -> None:
    partition, epoch, batch = restarted(make_redis(appendonly="everysec"), "everysec")
    answer = partition.store.prepare(batch)
    assert (answer.current, answer.accepted) == (False, False)
    assert answer.epoch > epoch
    assert partition.store.check_identity() == (answer.epoch, True)
    assert partition.states() == {"c1": "confirmed"}
    partition.store.close()


def test_restart_without_loss_keeps_the_epoch(make_redis: Any) -> None:
    partition, epoch, batch = restarted(make_redis(appendonly="always"), "always")
    answer = partition.store.prepare(batch)
    assert (answer.accepted, answer.epoch) == (True, epoch)
    assert partition.store.check_identity() == (epoch, False)
    partition.check()
    partition.store.close()


def test_durability_always_is_ignored_without_an_append_only_file(make_redis: Any) -> None:
    partition, epoch, batch = restarted(make_redis(appendonly="no"), "always")
    assert partition.store.prepare(batch).epoch > epoch
    partition.store.close()


def test_durability_always_is_ignored_when_the_store_is_behind(make_redis: Any) -> None:
    server = make_redis(appendonly="always")
    partition = partition_on(server, RedisStore(server.url(), "cell1", durability="always"))
    partition.add_host("h1")
    before = partition.store.snapshot()
    server.client().hincrby("gantt:{p:cell1}:meta", "position", -1)
    server.kill()
    server.start()
    after = partition.store.snapshot()
    assert after.epoch > before.epoch and after.position > before.position
    partition.store.close()


def test_workers_racing_after_a_restart_begin_a_single_epoch(make_redis: Any) -> None:
    server = make_redis(appendonly="everysec")
    stores = [RedisStore(server.url(), "cell1") for _ in range(4)]
    before = max(store.check_identity()[0] for store in stores)
    for store in stores:
        store.check_identity()
    server.kill()
    server.start()
    outcomes: list[tuple[int, bool]] = []
    threads = [threading.Thread(target=lambda store=store: outcomes.append(store.check_identity())) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len({epoch for epoch, _is_new in outcomes}) == 1 and outcomes[0][0] > before
    assert sum(is_new for _epoch, is_new in outcomes) == 1
    for store in stores:
        store.close()
