# SPDX-License-Identifier: Apache-2.0
"""Redis that restarts, hangs or is unavailable, and the commands that its ACL allows."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.redis import RedisStore, connect
from scheduler_svc.store.redis.keys import prefix
from tests.support.store.backends import partition_on, redis_partition
from tests.support.store.store_partition import poll

REF = ClaimRef("c1", 1)


def test_acl_user_may_run_all_commands_of_the_store(make_redis: Any) -> None:
    server = make_redis(users=STORE_USERS)
    partition = partition_on(server, RedisStore(server.url("scheduler"), "cell1"))
    store = partition.store
    epoch, _begun = store.check_identity()
    assert store.snapshot().epoch == epoch
    partition.add_host("h1", "h1/n1")
    partition.prepare("c1", "h1/n1", record={"driver": "filter"}, request_id="req-1")
    store.confirm("h1", [REF])
    store.begin_moves([REF], ["m1"])
    store.end_moves([REF], ["m1"])
    store.release("h1", [REF])
    store.abort([ClaimRef("c2", 1)])
    store.heartbeat("m1", "gantt-conductor")
    store.put_state("service", "h1", 1, {"enabled": False})
    assert store.fence("h1", "token-1", force=True) == 0
    store.record_decision("req-2", {"outcome": "refused"})
    assert store.find_decision("req-1") and store.find_decision("req-2")
    assert store.claims(host="h1") == ([], None) and store.claims(consumer="c1") == ([], None)
    assert store.list_state("compute")[0] and store.list_state("service")[0]
    assert store.reap(dead_after_ms=60_000, tombstone_ms=60_000).ended == 0
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


@pytest.mark.parametrize("read", [RedisStore.snapshot, lambda store: store.follow(0, 50)], ids=["command", "follow"])
def test_server_that_hangs_is_unavailable(
    make_redis: Any, monkeypatch: pytest.MonkeyPatch, read: Callable[[RedisStore], Any]
) -> None:
    """A read ends after its time-out; without one it would wait for as long as the server."""
    monkeypatch.setattr(connect, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(connect, "READER_SECONDS", 0.5)
    server = make_redis()
    store = RedisStore(server.url(), "cell1")
    store.follow(store.snapshot().position, 10)
    server.pause()
    with pytest.raises(errors.StoreUnavailable):
        read(store)
    server.resume()
    assert store.snapshot().epoch
    store.close()


def test_time_outs_need_no_second_system_call(redis_server: RedisServer) -> None:
    """A socket with a time-out of Python's waits for readiness before each read, in a call of its own."""
    store = RedisStore(redis_server.url(), "cell1")
    store.snapshot()
    connections = store._connection._client.connection_pool._available_connections
    assert [connection._sock.gettimeout() for connection in connections] == [None]
    store.close()


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


@pytest.mark.parametrize(("options", "seconds"), [({}, connect.ANSWER_SECONDS), ({"wait_seconds": 5.0}, 5.0)])
def test_command_waits_as_long_for_its_answer_as_its_caller_does(options: dict[str, Any], seconds: float) -> None:
    store = RedisStore("redis://localhost/0", "cell1", **options)
    assert store._connection._client.connection_pool.connection_kwargs["socket_timeout"] == seconds
