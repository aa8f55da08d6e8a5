# SPDX-License-Identifier: Apache-2.0
"""Behaviour of the store when Redis restarts, is unavailable, is emptied, or is another server."""

import threading
from functools import partial
from typing import Any

import pytest

from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from devstack.servers.redis_users import STORE_USERS
from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.factory import open_store
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.unit.scheduler_svc.store.backends import redis_partition
from tests.unit.scheduler_svc.store.store_partition import StorePartition, intent, poll

REF = ClaimRef("c1", 1)


def partition_on(server: RedisServer, store: RedisStore) -> StorePartition:
    """Return a partition with the given store."""
    new_partition = redis_partition(server)
    new_partition.store.close()
    new_partition.store = store
    return new_partition


def test_acl_user_may_run_all_commands_of_the_store(make_redis: Any) -> None:
    server = make_redis(users=STORE_USERS)
    partition = partition_on(server, RedisStore(server.url("scheduler"), "cell1"))
    store = partition.store
    epoch, _begun = store.check_identity()
    assert store.snapshot().epoch == epoch
    partition.add_host("h1", "h1/n1")
    partition.prepare("c1", "h1/n1", record={"driver": "filter"}, request_id="req-1")
    store.confirm("h1", [REF])
    store.move(REF, ClaimRef("m1", 1), "MIGRATION")
    store.release("h1", [ClaimRef("m1", 1)])
    store.abort([ClaimRef("c2", 1)])
    store.heartbeat("m1", "gantt-conductor")
    store.put_state("service", "h1", 1, {"enabled": False})
    assert store.fence("h1") == 0
    store.record_decision("req-2", {"outcome": "refused"})
    assert store.find_decision("req-1") and store.find_decision("req-2")
    assert store.claims(host="h1") == ([], None) and store.claims(consumer="c1") == ([], None)
    assert store.list_state("compute")[0] and store.list_state("service")[0]
    assert store.reap(dead_after_ms=60_000, tombstone_ms=60_000) == 0
    position = store.snapshot().position
    assert store.follow(position, 5) == [] and store.follow(position - 1, 5)
    partition.check()
    store.close()


def test_partition_of_a_newer_schema_is_rejected(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    head = prefix(partition.store.partition)
    with redis_server.client() as client:
        client.hset(head + "meta", "schema", 2)
        before, connected = client.hgetall(head + "meta"), len(client.client_list())
        older = RedisStore(redis_server.url(), partition.store.partition)
        # Each time: a connection without a successful identity check is neither used nor left open
        for ask in (older.snapshot, older.snapshot, partial(older.heartbeat, "m1", "gantt-conductor")):
            with pytest.raises(errors.IncompatibleObject, match="upgrade"):
                ask()
        poll(lambda: len(client.client_list()) <= connected)
        older.close()
        assert client.hgetall(head + "meta") == before


def test_log_entry_of_a_newer_schema_is_rejected(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    log, position = prefix(partition.store.partition) + "log", partition.store.snapshot().position
    with redis_server.client() as client:
        ((_id, written),) = client.xrevrange(log, count=1)
        assert written["schema"] == "1"
        client.xadd(log, {**written, "schema": "2"}, f"{position + 1}-0")
    with pytest.raises(errors.IncompatibleObject, match="log entry"):
        partition.store.follow(position, 5)


def test_flushed_scripts_are_loaded_again(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    redis_server.client().script_flush()
    assert partition.prepare("c1", "h1").answer is Answer.PREPARED
    partition.store.close()


@pytest.mark.parametrize(
    "touch",
    [
        lambda partition: partition.store.heartbeat("m1", "gantt-conductor"),
        lambda partition: partition.store.snapshot(),
    ],
    ids=["script", "read"],
)
def test_emptied_partition_begins_a_later_epoch(redis_server: RedisServer, touch: Any) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    before = partition.store.snapshot()
    keys = list(redis_server.client().scan_iter(f"*{partition.store.partition}*"))
    partition.store.check_identity()
    redis_server.client().delete(*keys)
    touch(partition)
    after = partition.store.snapshot()
    assert after.epoch > before.epoch and after.position > before.position
    assert partition.store.check_identity() == (after.epoch, True)
    assert partition.store.check_identity() == (after.epoch, False)
    partition.store.close()


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


def test_unavailable_store_raises_and_recovers(make_redis: Any) -> None:
    server = make_redis(appendonly="everysec")
    partition = partition_on(server, RedisStore(server.url(), "cell1"))
    partition.add_host("h1")
    server.kill()
    for verb in (
        partition.store.snapshot,
        partition.store.check_identity,
        lambda: partition.store.confirm("h1", [REF]),
    ):
        with pytest.raises(errors.StoreUnavailable, match=f"partition '{partition.store.partition}'"):
            verb()
    server.start()
    assert partition.store.get_state("service", "h1")[1]["binary"] == "gantt-compute"
    partition.store.close()


def test_blocking_follow_raises_when_the_store_dies(make_redis: Any) -> None:
    server = make_redis()
    store = RedisStore(server.url(), "cell1")
    position = store.snapshot().position
    store.check_identity()
    position = store.snapshot().position
    failed: list[Exception] = []

    def wait() -> None:
        try:
            store.follow(position, 9_000)
        except errors.StoreUnavailable as error:
            failed.append(error)

    reader = threading.Thread(target=wait, daemon=True)
    reader.start()
    server.kill()
    reader.join(8)
    assert failed and not reader.is_alive()
    store.close()


def test_store_on_a_replica_is_unavailable(make_redis: Any, redis_server: RedisServer) -> None:
    replica = make_redis(replica_of=redis_server)
    store = RedisStore(replica.url(), "cell1")
    with pytest.raises(errors.StoreUnavailable, match="replica"):
        store.snapshot()
    store.close()


def test_primary_without_replicas_rejects_writes(make_redis: Any, redis_flavour: Any) -> None:
    server = make_redis(binary=redis_flavour, port=free_port(), settings=["min-replicas-to-write 1"])
    replica = make_redis(binary=redis_flavour, replica_of=server)
    partition = partition_on(server, RedisStore(server.url(), "cell1"))
    # Given a replica that Redis counts: it counts from its first acknowledgement on.
    poll(lambda: server.client().info("replication")["min_slaves_good_slaves"] == 1)
    partition.add_host("h1")
    replica.kill()
    poll(lambda: server.client().info("replication")["connected_slaves"] == 0)
    with pytest.raises(errors.StoreUnavailable, match="NOREPLICAS"):
        partition.prepare("c1", "h1")
    assert partition.states() == {}
    partition.store.close()


def test_document_of_a_newer_schema_is_rejected(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    redis_server.client().hset(f"gantt:{{p:{partition.store.partition}}}:providers", "h1", '{"schema":2}')
    with pytest.raises(errors.IncompatibleObject, match="newer"):
        partition.store.snapshot()
    partition.store.close()


def test_verify_reports_inconsistent_sums(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.prepare("c2", "h1")
    head, client = f"gantt:{{p:{partition.store.partition}}}:", redis_server.client()
    client.hset(head + "used", "h1", '{"VCPU":3,"MEMORY_MB":128}')
    client.zrem(head + "by_host", "h1|c1")
    client.hset(head + "groups", "g1", '{"h1":1}')
    client.zrem(head + "deadlines", "c2")
    client.hset(head + "capacity", "h1", '{"VCPU":1,"MEMORY_MB":1024}')
    client.hset(head + "excess", "h1|MEMORY_MB", "1")
    problems = "\n".join(partition.store.verify().problems)
    for what in (
        "VCPU at h1: recorded as used 3",
        "index by host",
        "group count",
        "deadline",
        "not flagged",
        "within capacity",
    ):
        assert what in problems
    partition.store.close()


def test_deadline_without_a_claim_is_dropped_and_not_counted(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    deadlines = f"gantt:{{p:{partition.store.partition}}}:deadlines"
    client = redis_server.client()
    client.zadd(deadlines, {f"stray-{number}": 1 for number in range(500)})
    # A full batch would make the reaper and verify repeat the call
    assert partition.store.reap(dead_after_ms=60_000, tombstone_ms=60_000, limit=500) == 0
    assert client.zcard(deadlines) == 0
    partition.store.close()


def test_invalid_redis_url_is_rejected() -> None:
    with pytest.raises(errors.BadConfiguration):
        open_store("redis://host:notaport/0", "cell1")
