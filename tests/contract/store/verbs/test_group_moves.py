# SPDX-License-Identifier: Apache-2.0
"""Members of server groups that move: where they count meanwhile."""

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from tests.support.store.store_partition import StorePartition, intent

REF = ClaimRef("c1", 1)


@pytest.fixture(params=[1, 2], ids=["one per host", "two per host"])
def policy(request: pytest.FixtureRequest) -> ClaimGroup:
    return ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, request.param)


@pytest.fixture
def moving(partition: StorePartition, policy: ClaimGroup) -> StorePartition:
    """h1 has as many members as a host may have, of which c1 moves; h2 has as many, too, and h3 has none."""
    for host in ("h1", "h2", "h3"):
        partition.add_host(host)
    for number in range(policy.max_per_host):
        partition.hold(f"c{number + 1}", "h1", group=policy)
        partition.hold(f"d{number + 1}", "h2", group=policy)
    assert partition.store.begin_moves([REF], ["m1"])[0].answer is Answer.CONFIRMED
    return partition


def test_member_may_stay_on_its_host_and_others_may_not_come(moving: StorePartition, policy: ClaimGroup) -> None:
    assert moving.store.sources_of(["c1", "d1", "x"], "g1") == {"c1": "h1"}
    assert moving.store.sources_of(["c1"], "g2") == {}
    assert tuple(moving.prepare("x", "h1", group=policy).verdicts) == (Verdict.GROUP,)
    assert tuple(moving.prepare("c1", "h2", "h1", attempt=2, move=("m1", 1), group=policy).verdicts) == (
        Verdict.GROUP,
        Verdict.FITS,
    )
    assert tuple(moving.prepare("x", "h1", group=policy).verdicts) == (Verdict.GROUP,)
    moving.check()


def test_move_keeps_its_place_at_both_ends_until_it_ends(moving: StorePartition, policy: ClaimGroup) -> None:
    moving.hold("c1", "h3", attempt=2, move=("m1", 1), group=policy)
    assert moving.store.group_hosts("g1") == {"h1": policy.max_per_host, "h2": policy.max_per_host, "h3": 1}
    assert tuple(moving.prepare("x", "h1", group=policy).verdicts) == (Verdict.GROUP,)
    moving.store.release("h1", [REF])  # confirmed
    assert moving.prepare("x", "h1", group=policy).answer is Answer.PREPARED
    moving.check()


def test_confirmed_and_reverted_members_that_stayed_count_once(moving: StorePartition, policy: ClaimGroup) -> None:
    moving.hold("c1", "h1", attempt=2, move=("m1", 1), group=policy)
    moving.store.release("h1", [ClaimRef("c1", 2)])
    assert moving.store.end_moves([REF], ["m1"])[0].answer is Answer.CONFIRMED
    assert moving.store.group_hosts("g1")["h1"] == policy.max_per_host
    assert moving.store.sources_of(["c1"], "g1") == {}
    moving.check()


def test_verdict_on_a_source_is_that_of_its_own_instance_only(moving: StorePartition, policy: ClaimGroup) -> None:
    batch = moving.batch(
        intent("x", "h1", "h3"), intent("c1", "h1", attempt=2, move=("m1", 1)), intent("y", "h1"), group=policy
    )
    verdicts = [tuple(result.verdicts) for result in moving.store.prepare(batch).prepared]
    assert verdicts == [(Verdict.GROUP, Verdict.FITS), (Verdict.FITS,), (Verdict.GROUP,)]


def test_next_attempt_of_a_move_may_stay_too(moving: StorePartition, policy: ClaimGroup) -> None:
    moving.prepare("c1", "h3", attempt=2, move=("m1", 1), group=policy)
    assert moving.prepare("c1", "h1", attempt=3, move=("m1", 1), replaces=2, group=policy).host == "h1"
    moving.check()
