# SPDX-License-Identifier: Apache-2.0
"""Server group policies, which the claim script checks per node."""

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.store.records import RunningClaim
from tests.support.store.store_partition import SMALL, StorePartition, intent


def group(policy: GroupPolicy, most: int = 1) -> ClaimGroup:
    return ClaimGroup("g1", policy, most)


def test_anti_affinity_counts_live_claims_and_the_batch(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    policy = group(GroupPolicy.ANTI_AFFINITY)
    answer = partition.store.prepare(partition.batch(intent("c1", "h1", "h2"), intent("c2", "h1", "h2"), group=policy))
    assert [result.host for result in answer.prepared] == ["h1", "h2"]
    third = partition.prepare("c3", "h1", "h2", group=policy)
    assert tuple(third.verdicts) == (Verdict.GROUP, Verdict.GROUP)
    partition.store.abort([ClaimRef("c1", 1)])
    assert partition.prepare("c3", "h1", "h2", group=policy).host == "h1"
    partition.check()


def test_anti_affinity_with_more_than_one_per_host(partition: StorePartition) -> None:
    partition.add_host("h1")
    policy = group(GroupPolicy.ANTI_AFFINITY, 2)
    got = [partition.prepare(f"c{n}", "h1", group=policy).answer for n in range(3)]
    assert got == [Answer.PREPARED, Answer.PREPARED, Answer.REFUSED]


def test_groups_count_nodes_and_not_service_hosts(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/n2")
    for policy, second in ((GroupPolicy.ANTI_AFFINITY, "FITS"), (GroupPolicy.AFFINITY, "GROUP")):
        server_group = ClaimGroup(str(policy), policy)
        partition.prepare(f"{policy}-1", "h1/n1", group=server_group)
        assert tuple(partition.prepare(f"{policy}-2", "h1/n2", group=server_group).verdicts) == (second,)


def test_affinity_requires_the_host_of_the_first_member(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    policy = group(GroupPolicy.AFFINITY)
    answer = partition.store.prepare(partition.batch(intent("c1", "h2"), intent("c2", "h1", "h2"), group=policy))
    assert [tuple(result.verdicts) for result in answer.prepared] == [("FITS",), ("GROUP", "FITS")]
    assert partition.prepare("c3", "h1", group=policy).answer is Answer.REFUSED


@pytest.mark.parametrize("policy", [GroupPolicy.SOFT_AFFINITY, GroupPolicy.SOFT_ANTI_AFFINITY])
def test_soft_policies_count_their_members_and_refuse_none(partition: StorePartition, policy: GroupPolicy) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    hosts = {f"c{n}": host for n, host in enumerate(("h1", "h1", "h2"))}
    for consumer, host in hosts.items():
        assert partition.prepare(consumer, host, group=group(policy)).answer is Answer.PREPARED
    assert partition.store.group_hosts("g1") == {"h1": 2, "h2": 1}
    partition.check()


def test_replaced_member_is_no_longer_counted_in_the_group(partition: StorePartition) -> None:
    partition.add_host("h1")
    policy = group(GroupPolicy.ANTI_AFFINITY)
    partition.prepare("c1", "h1", group=policy)
    assert partition.prepare("c1", "h1", attempt=2, replaces=1, group=policy).answer is Answer.PREPARED
    partition.check()


def test_member_past_its_deadline_is_not_counted(partition: StorePartition) -> None:
    partition.add_host("h1")
    policy = group(GroupPolicy.ANTI_AFFINITY)
    partition.prepare("c1", "h1", group=policy)
    partition.pass_deadline_of("c1")
    assert partition.store.group_hosts("g1") == {}
    partition.prepare("c2", "h1", group=policy)
    partition.pass_deadline_of("c2")
    # The claim script is the first to see that the deadline has passed.
    assert partition.prepare("c3", "h1", group=policy).answer is Answer.PREPARED
    partition.check()


def test_member_past_its_deadline_does_not_keep_its_replacement_on_its_host(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    policy = group(GroupPolicy.AFFINITY)
    partition.prepare("c1", "h1", group=policy)
    partition.pass_deadline_of("c1")
    assert partition.prepare("c1", "h2", attempt=2, replaces=1, group=policy).host == "h2"
    partition.check()


def test_members_replaced_by_one_batch_leave_their_host_together(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    policy = group(GroupPolicy.AFFINITY)
    partition.store.prepare(partition.batch(intent("c1", "h1"), intent("c2", "h1"), group=policy))
    batch = partition.batch(*(intent(name, "h2", attempt=2, replaces=1) for name in ("c1", "c2")), group=policy)
    assert [result.host for result in partition.store.prepare(batch).prepared] == ["h2", "h2"]
    assert partition.store.group_hosts("g1") == {"h2": 2}
    partition.check()


def test_affinity_group_without_known_members_waits_for_all_audits(partition: StorePartition) -> None:
    policy = group(GroupPolicy.AFFINITY)
    for host in ("h1", "h2"):
        partition.add_host(host)
    before = partition.mark()
    partition.hold("m1", "h1", group=policy)
    epoch = partition.forget_since(before)
    partition.store.audit("h2", epoch, [], 60_000)
    assert tuple(partition.prepare("m2", "h2", group=policy).verdicts) == (Verdict.CLOSED,)
    running = RunningClaim("m1", 1, True, "h1", {"h1": SMALL}, "INSTANCE", "p", "u", "r", policy)
    partition.store.audit("h1", epoch, [running], 60_000)
    assert tuple(partition.prepare("m2", "h2", "h1", group=policy).verdicts) == (Verdict.GROUP, Verdict.FITS)
    partition.check()


def test_affinity_group_with_a_known_member_waits_for_no_other_host(partition: StorePartition) -> None:
    policy = group(GroupPolicy.AFFINITY)
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.hold("m1", "h1", group=policy)
    epoch = partition.new_epoch()
    running = RunningClaim("m1", 1, True, "h1", {"h1": SMALL}, "INSTANCE", "p", "u", "r", policy)
    partition.store.audit("h1", epoch, [running], 60_000)
    assert partition.prepare("m2", "h1", group=policy).answer is Answer.PREPARED


def test_anti_affinity_group_takes_an_audited_host_while_others_are_awaited(partition: StorePartition) -> None:
    policy = group(GroupPolicy.ANTI_AFFINITY)
    for host in ("h1", "h2"):
        partition.add_host(host)
    before = partition.mark()
    partition.hold("m1", "h1", group=policy)
    epoch = partition.forget_since(before)
    partition.store.audit("h2", epoch, [], 60_000)
    assert tuple(partition.prepare("m2", "h1", "h2", group=policy).verdicts) == (Verdict.CLOSED, Verdict.FITS)


def report_unverified_member(partition: StorePartition, host: str, policy: ClaimGroup, *, runs: bool = True) -> None:
    """Report a guest that the store does not know on a host that has audited before, or that it is gone."""
    guest = RunningClaim("copy", 1, True, host, {host: SMALL}, "INSTANCE", "p", "u", "r", policy)
    partition.store.audit(host, partition.store.snapshot().epoch, [guest] * runs, 0)


@pytest.mark.parametrize(
    ("policy", "verdicts"),
    [
        (GroupPolicy.ANTI_AFFINITY, (Verdict.GROUP, Verdict.FITS)),
        (GroupPolicy.AFFINITY, (Verdict.FITS,)),
        (GroupPolicy.SOFT_AFFINITY, (Verdict.FITS,)),
    ],
)
def test_unverified_member_counts_on_its_host(
    partition: StorePartition, policy: GroupPolicy, verdicts: tuple[Verdict, ...]
) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    report_unverified_member(partition, "h1", group(policy))
    assert partition.store.group_hosts("g1") == {"h1": 1}
    assert partition.store.leave_group("g1", "generation", 1000).members == 1
    assert tuple(partition.prepare("c1", "h1", "h2", group=group(policy)).verdicts) == verdicts
    partition.check()
    # Once it is its consumer's claim it is counted as before, and no longer once its guest is gone
    partition.store.vouch("h1", [ClaimRef("copy", 1)])
    partition.check()
    members = partition.store.group_hosts("g1")
    partition.store.release("h1", [ClaimRef("copy", 1)])
    assert sum(partition.store.group_hosts("g1").values()) == sum(members.values()) - 1
    partition.check()


def test_affinity_refuses_other_hosts_than_that_of_an_unverified_member(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    policy = group(GroupPolicy.AFFINITY)
    report_unverified_member(partition, "h1", policy)
    assert tuple(partition.prepare("c1", "h2", group=policy).verdicts) == (Verdict.GROUP,)


def test_affinity_waits_while_an_unverified_member_is_apart_from_the_others(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    policy = group(GroupPolicy.AFFINITY)
    partition.hold("c1", "h2", group=policy)
    report_unverified_member(partition, "h1", policy)
    assert tuple(partition.prepare("c2", "h2", "h1", group=policy).verdicts) == (Verdict.CLOSED, Verdict.CLOSED)
    report_unverified_member(partition, "h1", policy, runs=False)
    assert partition.prepare("c2", "h1", "h2", group=policy).host == "h2"
    partition.check()
