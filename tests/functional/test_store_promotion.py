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
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import LONG_MS, SMALL, StorePartition, intent, poll, running

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
    store_partition = Pair(primary, replica, run_folder / "store.sock")
    store_partition.turn_to(primary)
    return store_partition


@pytest.fixture
def partition(pair: Pair) -> Any:
    store_partition = redis_partition(pair.primary)
    store_partition.store.close()
    store_partition.store = pair.open_store()
    yield store_partition
    store_partition.store.close()


def audit(partition: StorePartition, host: str, *claims: Any) -> Any:
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, LONG_MS)


def test_promoted_replica_without_the_last_claims_recovers_by_audits(pair: Pair, partition: StorePartition) -> None:
    # Given three hosts, a guest on the first, and a prepared claim on the third
    for host in ("h1", "h2", "h3"):
        partition.add_host(host)
    partition.hold("known", "h1")
    partition.prepare("on-its-way", "h3")
    pair.wait_in_step()
    pair.part()
    # and writes that the replica never gets: a confirmed claim, and a replaced attempt
    partition.hold("lost", "h2")
    partition.hold("on-its-way", "h1", attempt=2, replaces=1)
    stale = partition.batch(intent("new", "h1", "h2", "h3"))
    second = pair.open_store()
    epoch, _begun = second.check_identity()
    partition.store.check_identity()

    # When the primary is killed and the replica is promoted
    pair.fail_over()

    # Then no earlier decision is accepted, and two workers begin a single epoch
    answer = partition.store.prepare(stale)
    assert (answer.current, answer.accepted) == (False, False)
    identities = [partition.store.check_identity(), second.check_identity()]
    assert [item for item, _begun in identities] == [answer.epoch] * 2 and answer.epoch > epoch
    assert sum(begun for _epoch, begun in identities) == 1
    second.close()

    # and no host accepts claims, and no claim is ended without an audit
    assert tuple(partition.prepare("new", "h1", "h2", "h3").verdicts) == (Verdict.CLOSED,) * 3
    assert partition.store.abort([ClaimRef("lost", 1)], host="h2")[0].answer is Answer.CLOSED
    assert partition.prepare("lost", "h3", attempt=2, replaces=1).answer is Answer.CLOSED
    assert partition.store.confirm("h3", [ClaimRef("on-its-way", 1)])[0].answer is Answer.CLOSED

    # until hosts audit: each opens with its actual guests
    guests = [running(ClaimRef("known", 1), "h1"), running(ClaimRef("on-its-way", 2), "h1")]
    assert [item.answer for item in audit(partition, "h1", *guests).answers] == [Answer.CONFIRMED] * 2
    assert partition.used("h1") == {name: 2 * amount for name, amount in SMALL.items()}
    first = partition.prepare("new", "h3", "h2", "h1")
    assert (first.host, tuple(first.verdicts)) == ("h1", (Verdict.CLOSED, Verdict.CLOSED, Verdict.FITS))

    late = audit(partition, "h3", running(ClaimRef("on-its-way", 1), "h3", confirmed=False))
    assert late.answers[0].answer is Answer.ABORTED
    assert partition.store.confirm("h3", [ClaimRef("on-its-way", 1)])[0].answer is Answer.ABORTED
    assert partition.prepare("more", "h3").answer is Answer.PREPARED

    assert audit(partition, "h2", running(ClaimRef("lost", 1), "h2")).reasserted == 1
    assert partition.store.abort([ClaimRef("lost", 1)], host="h2")[0].answer is Answer.CONFIRMED
    assert partition.store.snapshot().opened == dict.fromkeys(("h1", "h2", "h3"), answer.epoch)
    assert partition.states() == {
        "known": "confirmed",
        "lost": "confirmed",
        "on-its-way": "confirmed",
        "new": "prepared",
        "more": "prepared",
    }
    assert list(partition.check().excess) == []


def test_promoted_replica_begins_an_epoch_without_data_loss(pair: Pair, partition: StorePartition) -> None:
    # The replica cannot prove that it has all writes: durability was confirmed by the old primary.
    partition.store.close()
    partition.store = RedisStore(f"unix://{pair.address}?db=0", "cell1", durability="always")
    partition.add_host("h1")
    before = partition.store.check_identity()[0]
    pair.wait_in_step()
    pair.fail_over()
    assert partition.store.check_identity()[0] > before


def test_follower_learns_of_the_failover(pair: Pair, partition: StorePartition) -> None:
    partition.add_host("h1")
    pair.wait_in_step()
    pair.part()
    for consumer in ("c1", "c2", "c3"):
        partition.hold(consumer, "h1")
    position = partition.store.snapshot().position
    pair.fail_over()
    partition.store.check_identity()
    entries = partition.store.follow(position, 0)
    assert entries is not None and entries[0].kind == "epoch"
