# SPDX-License-Identifier: Apache-2.0
"""Affinity groups of which several members move by one call: all get a destination, or all stay."""

from typing import Any

import pytest

from conductor.requests.group_members import MAX_MEMBERS
from rpcapi import errors, objects
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.simulated_cluster import SimulatedCluster, migration_of, uuid_list

GROUP = {"group_id": "g", "group_policy": "affinity"}
TINY = objects.RequestSpec.of(resources={"VCPU": 1}, flavor="tiny", **GROUP)
LARGE = objects.RequestSpec.of(resources={"VCPU": 2}, flavor="large", **GROUP)
EQUAL = uuid_list(5)[:2]  # of one request
OTHERS = uuid_list(5)[2:4]  # of a request and a flavor of their own
MEMBERS = [*EQUAL, *OTHERS]
STRANGER = uuid_list(5)[4]


def make_cluster(**capacities: int) -> SimulatedCluster:
    """Return a cluster with two small and two large members, of two requests, on h1."""
    cluster = SimulatedCluster({f"{host}/n": capacity for host, capacity in {"h1": 6, **capacities}.items()})
    cluster.conductor()
    cluster.build(EQUAL, TINY)
    cluster.settle()
    cluster.build(OTHERS, LARGE)
    cluster.settle()
    assert hosts(cluster) == ["h1/n"] * 4
    return cluster


def hosts(cluster: SimulatedCluster, uuids: list[str] = MEMBERS) -> list[str | None]:
    return [cluster.record(uuid).host for uuid in uuids]


def migrations(cluster: SimulatedCluster) -> list[str]:
    return [cluster.migration(uuid).status.value for uuid in MEMBERS]


def count_members(cluster: SimulatedCluster) -> dict[str, int]:
    return dict(cluster.ledger.store.group_hosts("g"))


@pytest.mark.parametrize("is_duplicated", [False, True])
@pytest.mark.parametrize("order", [MEMBERS, MEMBERS[::-1]], ids=["in order", "reversed"])
def test_members_of_several_requests_and_flavors_move_together(order: list[str], is_duplicated: bool) -> None:
    cluster = make_cluster(h2=6, h3=6)
    cluster.hosts.duplicate = is_duplicated
    cluster.migrate(order)
    assert cluster.migration(MEMBERS[0]).group == [migration_of(uuid) for uuid in order]
    cluster.settle()
    assert (cluster.statuses(MEMBERS), hosts(cluster)) == (["VERIFY_RESIZE"] * 4, ["h2/n"] * 4)
    assert count_members(cluster) == {"h2/n": 4}  # the sources are not counted
    cluster.check(MEMBERS)
    cluster.confirm(MEMBERS)
    cluster.settle()
    assert (cluster.statuses(MEMBERS), migrations(cluster)) == (["ACTIVE"] * 4, ["confirmed"] * 4)
    cluster.check(MEMBERS)


def test_reverted_members_are_a_group_on_their_source_again() -> None:
    cluster = make_cluster(h2=6)
    cluster.migrate(MEMBERS)
    cluster.settle()
    cluster.revert(MEMBERS)
    cluster.settle()
    assert (cluster.statuses(MEMBERS), migrations(cluster)) == (["ACTIVE"] * 4, ["reverted"] * 4)
    assert count_members(cluster) == {"h1/n": 4}
    cluster.check(MEMBERS)


def test_host_that_accepts_only_some_members_is_left_for_one_that_accepts_all() -> None:
    cluster = make_cluster(h2=3, h3=5, h4=6)
    cluster.migrate(MEMBERS)
    cluster.settle()
    assert (cluster.statuses(MEMBERS), hosts(cluster)) == (["VERIFY_RESIZE"] * 4, ["h4/n"] * 4)
    cluster.check(MEMBERS)


def test_no_member_moves_or_stops_where_no_host_accepts_all() -> None:
    cluster = make_cluster(h2=5, h3=2)
    claims = cluster.ledger.live()
    casts = len(cluster.hosts.casts)
    cluster.migrate(MEMBERS)
    while cluster.work() | cluster.hosts.deliver():
        assert all(cluster.hosts.running_guests_of(uuid) for uuid in MEMBERS)
    cluster.settle()
    assert (cluster.statuses(MEMBERS), hosts(cluster)) == (["ACTIVE"] * 4, ["h1/n"] * 4)
    assert migrations(cluster) == ["error"] * 4
    assert all("no host accepts its whole group" in (cluster.migration(uuid).reason or "") for uuid in MEMBERS)
    assert {host for _kind, host, _uuids in cluster.hosts.casts[casts:]} == {"h1"}
    assert {uuid: claim[0] for uuid, claim in cluster.ledger.live().items()} == {
        uuid: claims[uuid][0] for uuid in claims
    }
    cluster.check(MEMBERS)


def test_some_members_stay_where_the_others_keep_them() -> None:
    cluster = make_cluster(h2=6)
    cluster.migrate(MEMBERS[:3])
    cluster.settle()
    assert (cluster.statuses(MEMBERS), hosts(cluster)) == (["ACTIVE"] * 4, ["h1/n"] * 4)
    cluster.check(MEMBERS)


def test_new_member_during_the_move_joins_the_others_at_their_destination() -> None:
    cluster = make_cluster(h2=8)
    cluster.migrate(MEMBERS)
    cluster.work()
    cluster.build([STRANGER], TINY)
    cluster.settle()
    assert hosts(cluster, [*MEMBERS, STRANGER]) == ["h2/n"] * 5
    cluster.check([*MEMBERS, STRANGER])


@pytest.mark.parametrize("behaviour", ["refused", "failed"])
def test_member_that_fails_at_the_destination_returns_and_can_follow_later(behaviour: str) -> None:
    cluster = make_cluster(h2=6, h3=6)
    cluster.hosts.behaviours[MEMBERS[1], 2] = behaviour
    cluster.migrate(MEMBERS)
    cluster.settle()
    assert cluster.statuses(MEMBERS) == ["VERIFY_RESIZE", "ACTIVE", "VERIFY_RESIZE", "VERIFY_RESIZE"]
    assert hosts(cluster) == ["h2/n", "h1/n", "h2/n", "h2/n"]
    assert count_members(cluster) == {"h2/n": 3, "h1/n": 1}
    cluster.check(MEMBERS)
    cluster.migrate([MEMBERS[1]], migrations=[migration_of(MEMBERS[1], 2)])
    cluster.settle()
    cluster.confirm(MEMBERS)
    cluster.settle()
    assert (cluster.statuses(MEMBERS), count_members(cluster)) == (["ACTIVE"] * 4, {"h2/n": 4})
    cluster.check(MEMBERS)


def test_split_group_is_on_one_host_again_after_all_members_were_migrated() -> None:
    cluster = make_cluster(h2=6, h3=6)
    cluster.hosts.behaviours[MEMBERS[1], 2] = "failed"
    cluster.migrate(MEMBERS)
    cluster.settle()
    cluster.confirm([MEMBERS[0], *OTHERS])
    cluster.settle()
    assert count_members(cluster) == {"h1/n": 1, "h2/n": 3}
    cluster.migrate(MEMBERS, migrations=[migration_of(uuid, 2) for uuid in MEMBERS])
    cluster.settle()
    assert (cluster.statuses(MEMBERS), count_members(cluster)) == (["VERIFY_RESIZE"] * 4, {"h3/n": 4})
    cluster.check(MEMBERS)


def test_member_that_is_deleted_meanwhile_leaves_the_others_moving() -> None:
    cluster = make_cluster(h2=6)
    cluster.migrate(MEMBERS)
    cluster.delete(MEMBERS[:1])
    cluster.settle()
    assert cluster.statuses(MEMBERS) == ["DELETED", *["VERIFY_RESIZE"] * 3]
    assert count_members(cluster) == {"h2/n": 3}
    cluster.check(MEMBERS)


def test_member_whose_claim_cannot_become_a_source_keeps_all_at_their_source() -> None:
    cluster = make_cluster(h2=6)
    cluster.migrate(MEMBERS)
    cluster.hosts._end("h1", ClaimRef(MEMBERS[3], 1), "it ended by itself")
    cluster.hosts.queue.clear()  # the report is lost
    cluster.settle()
    assert (cluster.statuses(MEMBERS), migrations(cluster)) == (["ACTIVE"] * 3 + ["ERROR"], ["error"] * 4)
    assert count_members(cluster) == {"h1/n": 3}
    cluster.check(MEMBERS)


def test_source_that_is_fenced_before_the_move_begins_ends_all() -> None:
    cluster = make_cluster(h2=6)
    cluster.migrate(MEMBERS)
    cluster.lose_host("h1")
    cluster.settle()
    assert (cluster.statuses(MEMBERS), count_members(cluster)) == (["ERROR"] * 4, {})
    cluster.check(MEMBERS)


def test_members_are_resized_together() -> None:
    cluster = make_cluster(h2=12)
    cluster.resize(MEMBERS, objects.RequestSpec.of(resources={"VCPU": 3}, flavor="huge"))
    cluster.settle()
    assert (cluster.statuses(MEMBERS), hosts(cluster)) == (["VERIFY_RESIZE"] * 4, ["h2/n"] * 4)
    cluster.check(MEMBERS)


def test_members_of_different_images_are_resized_together_each_with_its_own() -> None:
    image = {"id": "i", "properties": {"hw_disk_bus": "virtio"}}
    cluster = make_cluster(h2=12)
    cluster.rebuild(OTHERS, image)
    cluster.settle()
    plain, with_image = (
        objects.RequestSpec.of(resources={"VCPU": 3}, flavor="huge", image=image) for image in ({}, image)
    )
    with pytest.raises(errors.InvalidSpec, match=f"has the image of instance {OTHERS[0]}"):
        cluster.resize(MEMBERS, plain, plain)
    assert cluster.statuses(MEMBERS) == ["ACTIVE"] * 4
    cluster.resize(MEMBERS, plain, with_image)
    cluster.settle()
    assert (cluster.statuses(MEMBERS), hosts(cluster)) == (["VERIFY_RESIZE"] * 4, ["h2/n"] * 4)
    assert len({tuple(cluster.migration(uuid).group) for uuid in MEMBERS}) == 1
    cluster.check(MEMBERS)


def test_members_of_other_groups_move_alone() -> None:
    cluster = SimulatedCluster({"h1/n": 2, "h2/n": 2, "h3/n": 2})
    cluster.conductor()
    cluster.scheduler.groups["g"] = objects.ServerGroup.of(id="g", project="p", policy="anti-affinity")
    spec: Any = TINY.with_values(group_policy="anti-affinity")
    cluster.build(EQUAL, spec)
    cluster.settle()
    cluster.migrate(EQUAL)
    assert [cluster.migration(uuid).group for uuid in EQUAL] == [(), ()]


def test_too_large_group_is_refused_and_nothing_is_changed() -> None:
    uuids = uuid_list(MAX_MEMBERS + 1)
    cluster = SimulatedCluster({"h1/n": 200, "h2/n": 200})
    cluster.conductor()
    cluster.build(uuids, TINY)
    cluster.settle()
    before = cluster.store.get(uuids)
    with pytest.raises(errors.InvalidRequest, match="at most 100 members"):
        cluster.migrate(uuids)
    assert cluster.store.get(uuids) == before
    cluster.migrate(uuids[:1])  # without the others
    cluster.settle()
    assert hosts(cluster, uuids) == ["h1/n"] * len(uuids)


def test_group_is_read_once_for_many_members(monkeypatch: pytest.MonkeyPatch) -> None:
    uuids = uuid_list(30)
    cluster = SimulatedCluster({"h1/n": 30, "h2/n": 30})
    cluster.conductor()
    cluster.build(uuids, TINY)
    cluster.settle()
    cluster.migrate(uuids[::-1])  # the member that selects for all is the last in the order of records
    reads: list[int] = []
    read_migrations = cluster.store.migrations

    def count(migrations: Any) -> Any:
        reads.append(len(migrations))
        return read_migrations(migrations)

    monkeypatch.setattr(cluster.store, "migrations", count)
    cluster.work()
    assert {cluster.record(uuid).host for uuid in uuids} == {"h2/n"}
    assert 0 < len(reads) <= 3
