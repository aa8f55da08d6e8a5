# SPDX-License-Identifier: Apache-2.0
"""Partitions and records as the services store them, read by the checker's own reader."""

import uuid
from collections.abc import Callable

from conductor.store.records import BuildRequestRecord, StoreTimeouts
from conductor.store.redis import RedisConductorStore
from devstack.lab.chaos import stored_state
from devstack.lab.chaos.final_state import FinalState, InstanceState
from devstack.lab.chaos.state_checks import check_state
from devstack.lab.chaos.violations import ViolationKind
from devstack.servers.redis import RedisServer
from scheduler_svc.core.records import ClaimRef
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import SMALL


def test_partition(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    partition.hold("a", "h1")
    partition.prepare("b", "h1")
    partition.hold("c", "h1")
    partition.store.release("h1", [ClaimRef("c", 1)])
    state = stored_state.read_partition(redis_server.client(), partition.store.partition)
    partition.store.close()
    assert {(claim.consumer, claim.state, claim.host) for claim in state.claims} == {
        ("a", "confirmed", "h1"),
        ("b", "prepared", "h1"),
    }
    assert state.ended == {"c": {1: "released"}}
    assert state.used == {"h1": {**{name: 2 * amount for name, amount in SMALL.items()}, "claims": 2}}
    assert state.capacity["h1"]["VCPU"] == 4
    deadline = next(claim.deadline_ms for claim in state.claims if claim.consumer == "b")
    assert deadline is not None and 0 < deadline - state.time_ms <= 600_000
    # No journal has the confirmed claim; the prepared one is within its deadline, and sums and capacity are right.
    kinds = [violation.kind for violation in check_state(FinalState(partitions=[state]))]
    assert kinds == [ViolationKind.LEAKED]


def test_source_of_a_move_is_a_claim_of_its_instance(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    partition.store.begin_moves([partition.hold("a", "h1")], ["m"])
    state = stored_state.read_partition(redis_server.client(), partition.store.partition)
    partition.store.close()
    assert [(claim.consumer, claim.attempt, claim.source_of) for claim in state.claims] == [("a", 1, "m")]


def test_emptied_partition_is_epoch_zero(redis_server: RedisServer) -> None:
    state = stored_state.read_partition(redis_server.client(), uuid.uuid4().hex)
    assert (state.epoch, list(state.claims)) == (0, [])


def test_own_time_follows_the_last_reading(redis_server: RedisServer) -> None:
    client, name = redis_server.client(), uuid.uuid4().hex
    seconds, micros = client.time()
    clock = seconds * 1000 + micros // 1000
    client.hset(f"gantt:{{p:{name}}}:meta", mapping={"epoch": 1, "time": 1000, "clock": clock + 3_600_000})
    assert stored_state.read_partition(client, name).time_ms == 1000


def test_records(make_redis: Callable[..., RedisServer]) -> None:
    server = make_redis()
    store = RedisConductorStore(server.url(), StoreTimeouts())
    store.record(BuildRequestRecord("r", "req-1", "p", "u", "m1.small", {"a": 1}), ["a"])
    store.close()
    assert stored_state.read_instances(server.client()) == {"a": InstanceState("a", "SCHEDULING", 1)}
