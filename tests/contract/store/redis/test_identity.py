# SPDX-License-Identifier: Apache-2.0
"""Restart of a partition's server: which restarts begin an epoch."""

import threading
from typing import Any

from devstack.servers.redis import RedisServer
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import partition_on
from tests.support.store.store_partition import StorePartition, intent


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
