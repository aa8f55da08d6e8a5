# SPDX-License-Identifier: Apache-2.0
"""Defects of the claims protocol, each planted again by undoing its fix, on a real store: the checker finds each.

The agents' files are written as an agent would that believes the store's answers.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from devstack.lab.chaos import stored_state
from devstack.lab.chaos.checker import check
from devstack.lab.chaos.final_state import FinalState
from devstack.lab.chaos.history import CallHistory, ClaimSighting, GuestSighting
from devstack.lab.chaos.promise_checks import check_leases
from devstack.lab.chaos.state_checks import check_state
from devstack.lab.chaos.violations import ViolationKind
from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition, running


@pytest.fixture
def server(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """A server of its own."""
    return make_redis()


@pytest.fixture
def make_partition(server: RedisServer) -> Iterator[Callable[..., StorePartition]]:
    """Create partitions on the server."""
    partitions: list[StorePartition] = []

    def make(**options: Any) -> StorePartition:
        partitions.append(redis_partition(server, **options))
        return partitions[-1]

    yield make
    for partition in partitions:
        partition.store.close()


def guest(state: Path, host: str, consumer: str, attempt: int = 1) -> None:
    """Write the guest file of an attempt that runs on the host's only node."""
    folder = state / host / "guests"
    folder.mkdir(parents=True, exist_ok=True)
    (state / host / "journal").write_bytes(b"")
    document = {"uuid": consumer, "attempt": attempt, "name": host, "running_at_ms": 0}
    (folder / f"{consumer}@{attempt}.json").write_text(json.dumps(document))


def final_state(server: RedisServer, state: Path, *partitions: StorePartition, read_at: float = 0.0) -> FinalState:
    """Return what is stored, and what runs."""
    with server.client() as client:
        return FinalState(
            guests=stored_state.read_guests(state),
            partitions=[stored_state.read_partition(client, partition.store.partition) for partition in partitions],
            read_at=read_at,
        )


def kinds(state: FinalState) -> set[ViolationKind]:
    """Return the violations but those of journals, which these tests do not write."""
    return {violation.kind for violation in check_state(state)} - {ViolationKind.LEAKED}


@pytest.mark.parametrize("is_fixed", [True, False])
def test_fence_before_the_commit_of_an_audit(
    server: RedisServer,
    make_partition: Callable[..., StorePartition],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_fixed: bool,
) -> None:
    partition = make_partition()
    partition.add_host("h1")
    ref = partition.hold("a", "h1")
    connection = partition.store._connection  # type: ignore[attr-defined]
    run = connection.run

    def run_interrupted(name: str, *args: Any, **named: Any) -> Any:
        if name == "commit":
            monkeypatch.setattr(connection, "run", run)
            partition.fence("h1")
            if not is_fixed:
                plan = json.loads(named["plan"])
                named["plan"] = json.dumps({**plan, **{key: [] for key in ("reads", "sizes", "rooms")}})
        return run(name, *args, **named)

    # Given an audit that commits what it planned before a fence, if its reads are not compared
    monkeypatch.setattr(connection, "run", run_interrupted)
    outcome = partition.store.audit("h1", partition.store.snapshot().epoch, [running(ref, "h1")], LONG_MS)
    # When its agent keeps what is answered as confirmed
    if outcome.answers[0].answer is Answer.CONFIRMED:
        guest(tmp_path, "h1", "a")
    assert kinds(final_state(server, tmp_path, partition)) == (set() if is_fixed else {ViolationKind.UNCLAIMED})


@pytest.mark.parametrize("is_fixed", [True, False])
def test_fence_that_is_delivered_twice(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path, is_fixed: bool
) -> None:
    partition = make_partition()
    partition.add_host("h1")
    partition.store.fence("h1", "token", force=True)
    partition.store.audit("h1", partition.store.snapshot().epoch, [], 0)
    partition.hold("a", "h1")
    guest(tmp_path, "h1", "a")
    # When the fence arrives again, and is not recognised by its token
    partition.store.fence("h1", "token" if is_fixed else "another", force=True)
    assert kinds(final_state(server, tmp_path, partition)) == (set() if is_fixed else {ViolationKind.UNCLAIMED})


@pytest.mark.parametrize("is_fixed", [True, False])
def test_time_that_stands_still(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path, is_fixed: bool
) -> None:
    # Given a partition whose time does not go on, as when its server's clock went back an hour
    partition = make_partition(**({} if is_fixed else {"max_step_ms": 0}))
    partition.add_host("h1")
    prepared = partition.prepare("a", "h1", ttl_ms=SHORT_MS)
    history = CallHistory(claims=[ClaimSighting(100.0, partition.store.partition, "a", 1, "prepared", "h1")])
    if is_fixed:
        partition.pass_deadline(prepared)
    partition.store.reap(dead_after_ms=LONG_MS, tombstone_ms=LONG_MS)
    # Then the claim is held for longer than any lease, by the observer's clock
    violations = check_leases(history, final_state(server, tmp_path, partition, read_at=200.0), 60.0)
    assert [item.kind for item in violations] == ([] if is_fixed else [ViolationKind.LEAKED])


def members(partitions: Sequence[StorePartition], policy: GroupPolicy) -> None:
    """Claim a member of one group in each partition."""
    for number, partition in enumerate(partitions):
        partition.add_host(f"h{number}")
        partition.hold(f"c{number}", f"h{number}", group=ClaimGroup("g", policy))


@pytest.mark.parametrize("policy", [GroupPolicy.AFFINITY, GroupPolicy.SOFT_AFFINITY])
def test_affinity_group_in_two_partitions(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path, policy: GroupPolicy
) -> None:
    # Given a group without an agreed home: each partition sees its own members only
    partitions = [make_partition(), make_partition()]
    members(partitions, policy)
    expected = {ViolationKind.GROUP} if policy is GroupPolicy.AFFINITY else set()
    assert kinds(final_state(server, tmp_path, *partitions)) == expected


def test_anti_affinity_member_that_the_store_forgot(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path
) -> None:
    partition = make_partition()
    partition.add_host("h1")
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    # Given a member whose count the store forgot, so that the next one joins its host
    partition.hold("a", "h1", group=group)
    with server.client() as client:
        client.delete(f"gantt:{{p:{partition.store.partition}}}:groups")
    partition.hold("b", "h1", group=group)
    assert kinds(final_state(server, tmp_path, partition)) == {ViolationKind.GROUP}


def test_capacity_that_is_sold_twice(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path
) -> None:
    partition = make_partition()
    partition.add_host("h1", amounts={"VCPU": 1, "MEMORY_MB": 64})
    partition.hold("a", "h1")
    # Given sums that the store forgot
    with server.client() as client:
        client.delete(f"gantt:{{p:{partition.store.partition}}}:used")
    partition.hold("b", "h1")
    assert kinds(final_state(server, tmp_path, partition)) == {ViolationKind.OVERSOLD, ViolationKind.WRONG_SUMS}


@pytest.mark.parametrize("is_fixed", [True, False])
def test_second_copy_after_a_failover_that_lost_the_first(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path, is_fixed: bool
) -> None:
    partition = make_partition()
    partition.add_host("h1")
    partition.add_host("h2")
    mark = partition.mark()
    ref = partition.hold("a", "h1")
    guest(tmp_path, "h1", "a")
    epoch = partition.forget_since(mark)
    partition.store.audit("h2", epoch, [], 0)
    # When the attempt is selected again, by a caller that is or, as once, is not aware that it may run
    result = partition.prepare("a", "h2", fresh=not is_fixed)
    if result.answer is Answer.PREPARED:
        partition.store.confirm("h2", [ref])
        guest(tmp_path, "h2", "a")
    else:
        partition.store.audit("h1", epoch, [running(ref, "h1")], 0)
    expected = set() if is_fixed else {ViolationKind.DOUBLY_RUNNING, ViolationKind.UNCLAIMED}
    assert kinds(final_state(server, tmp_path, partition)) == expected


@pytest.mark.parametrize("is_fixed", [True, False])
def test_emptied_store_that_awaits_nobody(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path, is_fixed: bool
) -> None:
    partition = make_partition()
    empty = partition.mark()
    partition.store.check_identity()
    partition.add_host("h1")
    ref = partition.hold("a", "h1")
    guest(tmp_path, "h1", "a")
    # Given a store that comes back empty and, as once, awaits no host
    epoch = partition.forget_and_collect(empty)
    if not is_fixed:
        with server.client() as client:
            client.delete(f"gantt:{{p:{partition.store.partition}}}:awaited")
    # When a conductor gives the attempt up, and its host audits
    partition.store.abort([ref])
    partition.incarnations.clear()
    partition.add_host("h1", opened=False)
    (result,) = partition.store.audit("h1", epoch, [running(ref, "h1")], LONG_MS).answers
    if result.answer is not Answer.CONFIRMED:
        (tmp_path / "h1" / "guests" / "a@1.json").unlink()
    # Then the agent stopped a guest that nobody had deleted
    history = CallHistory(guests=[GuestSighting(1.0, "h1", "a", 1, False)])
    report = check(history, final_state(server, tmp_path, partition))
    assert (ViolationKind.STOPPED in {item.kind for item in report.violations}) is not is_fixed


@pytest.mark.parametrize("is_fixed", [True, False])
def test_restored_backup_without_a_new_epoch(
    server: RedisServer, make_partition: Callable[..., StorePartition], tmp_path: Path, is_fixed: bool
) -> None:
    partition = make_partition()
    partition.add_host("h1")
    backup = partition.mark()
    ref = partition.hold("a", "h1")
    guest(tmp_path, "h1", "a")
    epoch = partition.forget_since(backup)
    # Without a new epoch nobody asks the host for its audit
    if is_fixed:
        partition.store.audit("h1", epoch, [running(ref, "h1")], 0)
    assert kinds(final_state(server, tmp_path, partition)) == (set() if is_fixed else {ViolationKind.UNCLAIMED})
