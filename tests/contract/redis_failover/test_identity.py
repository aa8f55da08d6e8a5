# SPDX-License-Identifier: Apache-2.0
"""Server identity, restart and failover: which changes begin an epoch, in a partition and in the conductors' store."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from conductor.store import keys
from conductor.store.scripts import make_identity
from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.redis_failover.identity import NO_REPLICATION_ID, EpochMissing, ServerIdentity
from scheduler_svc.store.redis.scripts import RedisIdentity


@dataclass
class Servers:
    """One set of keys on simulated servers, with the identity that a test sets."""

    client: redis.Redis
    identity: Callable[[], ServerIdentity]
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

    def hash_key(self) -> str:
        """Return the key of the hash that records the server."""
        return self.identity()._record.hash_key

    def forget(self) -> None:
        self.client.delete(self.hash_key())


@pytest.fixture(params=["partition", "conductor"])
def servers(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[Servers]:
    """The servers of a new partition, or of a new store of the conductors."""
    client = redis_server.client()
    name = uuid.uuid4().hex[:12]
    client.delete(*keys.ALL)
    make: dict[str, Callable[[], ServerIdentity]] = {
        "partition": lambda: RedisIdentity(name, "always", 1000),
        "conductor": lambda: make_identity(is_durable=True),
    }
    servers = Servers(client, make[request.param])
    servers.become("A", "R1")
    yield servers
    client.delete(*keys.ALL)


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


def test_restart_of_a_server_that_is_not_durable_begins_an_epoch(redis_server: RedisServer) -> None:
    client = redis_server.client()
    client.delete(*keys.ALL)
    servers = Servers(client, lambda: make_identity(is_durable=False))
    servers.become("A", "R1")
    epoch = servers.identity().check(servers.ask)
    servers.become("B", "R2")
    assert servers.identity().check(servers.ask) > epoch
    client.delete(*keys.ALL)


def test_durable_server_without_an_append_only_file_begins_an_epoch(servers: Servers) -> None:
    epoch = servers.identity().check(servers.ask)
    servers.become("B", "R2")
    assert servers.identity().check(servers.ask) == epoch
    servers.become("C", "R3")
    servers.says["aof_enabled"] = "0"
    assert servers.identity().check(servers.ask) > epoch


def test_emptied_store_begins_an_epoch_after_the_observed_one(servers: Servers) -> None:
    identity = servers.identity()
    epoch = identity.check(servers.ask)
    servers.forget()
    with pytest.raises(EpochMissing):
        identity.check_emptied(redis.ResponseError("NOEPOCH it was emptied"), servers.ask)
    assert identity.high_water_mark[0] > epoch
    identity.check_emptied(redis.ResponseError("another error"), servers.ask)


def test_store_of_a_newer_release_is_rejected(servers: Servers) -> None:
    identity = servers.identity()
    identity.check(servers.ask)
    servers.client.hset(servers.hash_key(), "schema", 2)
    with pytest.raises(errors.IncompatibleObject, match="2"):
        identity.check(servers.ask)
