# SPDX-License-Identifier: Apache-2.0
"""Acts on server groups that a failover forgets: their partitions, and their members.

Each is a generator in three parts: what is kept; the act, which is forgotten; what follows.
"""

from collections.abc import Iterator

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.replication.replica import Replica
from scheduler_svc.scheduling.group_homes import GroupHomes
from scheduler_svc.store.records import RunningClaim
from tests.regressions.forgetful_stores import ForgetfulStores
from tests.regressions.forgotten_claim_acts import audit
from tests.support.store.store_partition import SMALL, StorePartition, intent


def homes_of(*partitions: StorePartition) -> GroupHomes:
    """Return a new worker's view of where groups are."""
    opened = [OpenPartition(partition.store, Replica(partition.store)) for partition in partitions]
    for partition in opened:
        partition.replica.load()
    return GroupHomes(opened)


def group_home(stores: ForgetfulStores) -> Iterator[None]:
    first, second = stores.partition(), stores.partition()
    group = ClaimGroup("g1", GroupPolicy.AFFINITY)
    for partition in (first, second):
        partition.add_host("h1")
    yield
    home = homes_of(first, second).agree(group, second.store.partition)
    ref = second.hold("m1", "h1", group=group, group_generation=home.generation)
    yield
    # No partition is agreed on while members may be unknown; then it is that of the forgotten member
    audit(first, "h1")
    with pytest.raises(errors.StoreUnavailable, match="may have forgotten members"):
        homes_of(first, second).agree(group, first.store.partition)
    audit(second, "h1", member(ref, "h1", group))
    later = homes_of(first, second).agree(group, first.store.partition)
    assert (later.partition, later.generation > home.generation) == (second.store.partition, True)
    assert second.prepare("m2", "h1", group=group, group_generation=later.generation).answer is Answer.PREPARED


def replaced_group_home(stores: ForgetfulStores) -> Iterator[None]:
    first, second = stores.partition(), stores.partition()
    group = ClaimGroup("g1", GroupPolicy.AFFINITY)
    for partition in (first, second):
        partition.add_host("h1")
    homes = homes_of(first, second)
    home = homes.agree(group, first.store.partition)
    late = first.batch(intent("m2", "h1"), group=group, group_generation=home.generation)
    yield
    # The group leaves its first home, which refused it, for the second partition
    assert homes.leave(group, home)
    moved = homes.move(group, home, second.store.partition)
    ref = second.hold("m1", "h1", group=group, group_generation=moved.generation)
    yield
    audit(first, "h1")
    audit(second, "h1", member(ref, "h1", group))
    # A claim that was decided for the first partition is refused there, although it forgot that the group has left
    assert first.store.prepare(late).prepared[0].answer is Answer.REFUSED
    later = homes_of(first, second).agree(group, first.store.partition)
    assert (later.partition, later.generation > moved.generation) == (second.store.partition, True)
    assert second.prepare("m2", "h1", group=group, group_generation=later.generation).answer is Answer.PREPARED


def member(ref: ClaimRef, host: str, group: ClaimGroup) -> RunningClaim:
    """Return an audit's entry for a member of a group."""
    return RunningClaim(ref.consumer, ref.attempt, True, host, {host: SMALL}, "INSTANCE", "p", "u", "r", group)


def affinity_member(stores: ForgetfulStores) -> Iterator[None]:
    partition, group = two_hosts(stores), ClaimGroup("g1", GroupPolicy.AFFINITY)
    yield
    ref = partition.hold("m1", "h1", group=group)
    yield
    # The next member waits until every awaited host has audited, and joins the forgotten one
    audit(partition, "h2")
    assert verdicts(partition, group, "h2") == [Verdict.CLOSED]
    audit(partition, "h1", member(ref, "h1", group))
    assert verdicts(partition, group, "h2", "h1") == [Verdict.GROUP, Verdict.FITS]
    partition.check()


def anti_affinity_member(stores: ForgetfulStores) -> Iterator[None]:
    partition, group = two_hosts(stores), ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY)
    yield
    ref = partition.hold("m1", "h1", group=group)
    yield
    # Its host, which has not audited, takes no second member, and another host takes one at once
    audit(partition, "h2")
    assert verdicts(partition, group, "h1", "h2") == [Verdict.CLOSED, Verdict.FITS]
    audit(partition, "h1", member(ref, "h1", group))
    assert partition.store.group_hosts("g1") == {"h1": 1, "h2": 1}
    assert verdicts(partition, group, "h1", "h2", consumer="m3") == [Verdict.GROUP, Verdict.GROUP]
    partition.check()


def soft_member(stores: ForgetfulStores) -> Iterator[None]:
    partition = two_hosts(stores)
    groups = [ClaimGroup("g1", GroupPolicy.SOFT_AFFINITY), ClaimGroup("g2", GroupPolicy.SOFT_ANTI_AFFINITY)]
    yield
    refs = [partition.hold(f"m{number}", "h1", group=group) for number, group in enumerate(groups)]
    yield
    # Other members do not wait, and the forgotten ones count from their host's audit on
    audit(partition, "h2")
    for number, group in enumerate(groups):
        assert verdicts(partition, group, "h2", consumer=f"c{number}") == [Verdict.FITS]
    audit(partition, "h1", *(member(ref, "h1", group) for ref, group in zip(refs, groups, strict=True)))
    for group in groups:
        assert partition.store.group_hosts(group.id) == {"h1": 1, "h2": 1}
    partition.check()


def two_hosts(stores: ForgetfulStores) -> StorePartition:
    """Return a partition with hosts h1 and h2."""
    partition = stores.partition()
    for host in ("h1", "h2"):
        partition.add_host(host)
    return partition


def verdicts(partition: StorePartition, group: ClaimGroup, *hosts: str, consumer: str = "m2") -> list[Verdict]:
    """Prepare a member on the first of the hosts that takes it; return their verdicts."""
    return list(partition.prepare(consumer, *hosts, group=group).verdicts)


ACTS = (
    group_home,
    replaced_group_home,
    affinity_member,
    anti_affinity_member,
    soft_member,
)
