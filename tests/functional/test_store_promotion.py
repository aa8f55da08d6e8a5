# SPDX-License-Identifier: Apache-2.0
"""Promotion of a replica without the last claims: the epoch and the audits restore what the failover lost."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.redis import RedisStore
from tests.unit.scheduler_svc.store.backends import redis_world
from tests.unit.scheduler_svc.store.world import LONG_MS, SMALL, World, intent, poll, running

CELL = "gantt:{p:cell1}:"


@dataclass
class Pair:
    """A primary and its replica behind one address, a link that a failover redirects like a service address."""

    primary: RedisServer
    replica: RedisServer
    address: Path

    def open_store(self) -> RedisStore:
        return RedisStore(f"unix://{self.address}?db=0", "cell1")

    def turn_to(self, server: RedisServer) -> None:
        self.address.unlink(missing_ok=True)
        self.address.symlink_to(server.socket)

    def wait_in_step(self) -> None:
        position = self.primary.client().hget(CELL + "meta", "position")
        poll(lambda: self.replica.client().hget(CELL + "meta", "position") == position, 20)

    def part(self) -> None:
        """Disconnect the replica from its primary: later writes do not reach it."""
        self.replica.client().execute_command("REPLICAOF", LOOPBACK, str(free_port()))
        poll(lambda: self.primary.client().info("replication")["connected_slaves"] == 0, 20)

    def fail_over(self) -> None:
        self.primary.kill()
        self.replica.promote()
        self.turn_to(self.replica)


@pytest.fixture
def pair(make_redis: Callable[..., Any], run_folder: Path) -> Pair:
    primary = make_redis(port=free_port(), appendonly="always")
    replica = make_redis(replica_of=primary, appendonly="always")
    store_world = Pair(primary, replica, run_folder / "store.sock")
    store_world.turn_to(primary)
    return store_world


@pytest.fixture
def world(pair: Pair) -> Any:
    store_world = redis_world(pair.primary)
    store_world.store.close()
    store_world.store = pair.open_store()
    yield store_world
    store_world.store.close()


def audit(world: World, host: str, *claims: Any) -> Any:
    return world.store.audit(host, world.store.snapshot().epoch, claims, LONG_MS)


def test_promoted_replica_without_the_last_claims_recovers_by_audits(pair: Pair, world: World) -> None:
    # Given three hosts, a guest on the first, and a prepared claim on the third
    for host in ("h1", "h2", "h3"):
        world.add_host(host)
    world.hold("known", "h1")
    world.prepare("on-its-way", "h3")
    pair.wait_in_step()
    pair.part()
    # and writes that the replica never gets: a confirmed claim, and a replaced attempt
    world.hold("lost", "h2")
    world.hold("on-its-way", "h1", attempt=2, replaces=1)
    stale = world.batch(intent("new", "h1", "h2", "h3"))
    second = pair.open_store()
    epoch, _begun = second.check_identity()
    world.store.check_identity()

    # When the primary is killed and the replica is promoted
    pair.fail_over()

    # Then no earlier decision is accepted, and two workers begin a single epoch
    answer = world.store.prepare(stale)
    assert (answer.current, answer.accepted) == (False, False)
    identities = [world.store.check_identity(), second.check_identity()]
    assert [item for item, _begun in identities] == [answer.epoch] * 2 and answer.epoch > epoch
    assert sum(begun for _epoch, begun in identities) == 1
    second.close()

    # and no host accepts claims, and no claim is ended without an audit
    assert tuple(world.prepare("new", "h1", "h2", "h3").verdicts) == (Verdict.CLOSED,) * 3
    assert world.store.abort([ClaimRef("lost", 1)], host="h2")[0].answer is Answer.CLOSED
    assert world.prepare("lost", "h3", attempt=2, replaces=1).answer is Answer.CLOSED
    assert world.store.confirm("h3", [ClaimRef("on-its-way", 1)])[0].answer is Answer.CLOSED

    # until hosts audit: each opens with its actual guests
    guests = [running(ClaimRef("known", 1), "h1"), running(ClaimRef("on-its-way", 2), "h1")]
    assert [item.answer for item in audit(world, "h1", *guests).answers] == [Answer.CONFIRMED] * 2
    assert world.used("h1") == {name: 2 * amount for name, amount in SMALL.items()}
    first = world.prepare("new", "h3", "h2", "h1")
    assert (first.host, tuple(first.verdicts)) == ("h1", (Verdict.CLOSED, Verdict.CLOSED, Verdict.FITS))

    late = audit(world, "h3", running(ClaimRef("on-its-way", 1), "h3", confirmed=False))
    assert late.answers[0].answer is Answer.ABORTED
    assert world.store.confirm("h3", [ClaimRef("on-its-way", 1)])[0].answer is Answer.ABORTED
    assert world.prepare("more", "h3").answer is Answer.PREPARED

    assert audit(world, "h2", running(ClaimRef("lost", 1), "h2")).reasserted == 1
    assert world.store.abort([ClaimRef("lost", 1)], host="h2")[0].answer is Answer.CONFIRMED
    assert world.store.snapshot().opened == dict.fromkeys(("h1", "h2", "h3"), answer.epoch)
    assert world.states() == {
        "known": "confirmed",
        "lost": "confirmed",
        "on-its-way": "confirmed",
        "new": "prepared",
        "more": "prepared",
    }
    assert list(world.check().excess) == []


def test_promoted_replica_begins_an_epoch_without_data_loss(pair: Pair, world: World) -> None:
    # The replica cannot prove that it has all writes: durability was confirmed by the old primary.
    world.store.close()
    world.store = RedisStore(f"unix://{pair.address}?db=0", "cell1", durability="always")
    world.add_host("h1")
    before = world.store.check_identity()[0]
    pair.wait_in_step()
    pair.fail_over()
    assert world.store.check_identity()[0] > before


def test_follower_learns_of_the_failover(pair: Pair, world: World) -> None:
    world.add_host("h1")
    pair.wait_in_step()
    pair.part()
    for consumer in ("c1", "c2", "c3"):
        world.hold(consumer, "h1")
    position = world.store.snapshot().position
    pair.fail_over()
    world.store.check_identity()
    entries = world.store.follow(position, 0)
    assert entries is not None and entries[0].kind == "epoch"
