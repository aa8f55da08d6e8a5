# SPDX-License-Identifier: Apache-2.0
"""Who the store is, told by servers that fail over: which change begins an epoch, and who begins it."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from devstack.servers.redis import RedisServer
from scheduler_svc.store.redis.identity import NO_REPLICATION_ID, RedisIdentity
from scheduler_svc.store.redis.keys import prefix


@dataclass
class Servers:
    """One set of keys behind servers that say of themselves what a test tells them to."""

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
    made = Servers(redis_server.client())
    made.become("A", "R1")
    return made


def test_same_server_goes_on(servers: Servers) -> None:
    epoch = servers.identity().check(servers.ask)
    assert servers.identity().check(servers.ask) == epoch


def test_promoted_server_begins_an_epoch(servers: Servers) -> None:
    epoch = servers.identity().check(servers.ask)
    servers.become("B", "R2", "R1")
    assert servers.identity().check(servers.ask) > epoch


def test_server_that_was_a_replica_for_a_while_begins_an_epoch(servers: Servers) -> None:
    # Nobody looked while another one served: its data still name the first, which was made to follow it
    epoch = servers.identity().check(servers.ask)
    servers.become("A", "R3", "R2")
    later = servers.identity().check(servers.ask)
    assert later > epoch
    assert servers.identity().check(servers.ask) == later


def test_new_replication_id_alone_loses_nothing(servers: Servers) -> None:
    # A primary whose last replica left long ago takes another one
    epoch = servers.identity().check(servers.ask)
    servers.become("A", "R2")
    assert servers.identity().check(servers.ask) == epoch


def test_same_server_that_is_behind_what_was_seen_begins_an_epoch(servers: Servers) -> None:
    one = servers.identity()
    epoch = one.check(servers.ask)
    one.observe(epoch, 100)
    later = one.check(servers.ask)
    assert later > epoch and one.take_epoch_change()
    # Others that saw less follow, and it is not begun twice
    assert servers.identity().check(servers.ask) == one.check(servers.ask) == later


def test_epoch_that_another_server_had_begun_is_outgrown(servers: Servers) -> None:
    # An old primary answered for a moment, and began an epoch there; then it was made to follow the new one
    one = servers.identity()
    epoch = one.check(servers.ask)
    one.observe(epoch + 1_000_000, 0)
    assert one.check(servers.ask) > epoch + 1_000_000


def test_two_that_race_begin_one_epoch(servers: Servers) -> None:
    first, second = servers.identity(), servers.identity()
    for one in (first, second):
        one.observe(one.check(servers.ask), 100)
    told: list[int] = []

    def first_is_faster(*command: Any) -> Any:
        if command[0] == "EVAL" and not told:
            told.append(first.check(servers.ask))
        return servers.ask(*command)

    assert second.check(first_is_faster) == told[0]
    assert (first.take_epoch_change(), second.take_epoch_change()) == (True, False)


def test_what_is_seen_while_the_store_is_asked_is_no_loss(servers: Servers) -> None:
    one = servers.identity()
    epoch = one.check(servers.ask)

    def others_go_on(*command: Any) -> Any:
        answer = servers.ask(*command)
        if command[0] == "HMGET":
            one.observe(epoch, 1_000)
        return answer

    assert one.check(others_go_on) == epoch


def test_replica_is_refused(servers: Servers) -> None:
    servers.says["role"] = "slave"
    with pytest.raises(redis.ReadOnlyError):
        servers.identity().check(servers.ask)
