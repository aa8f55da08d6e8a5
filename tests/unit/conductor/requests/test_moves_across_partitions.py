# SPDX-License-Identifier: Apache-2.0
"""Moves from one partition to another: the claim of the source stays in its own until the move is confirmed."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from conductor.reports import intake
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.ledger import PARTITION, TTL_MS
from tests.support.conductor.partitions import WEST
from tests.support.conductor.simulated_cluster import CTXT, LARGE, SPEC, KillSwitch, migration_of, uuid_list
from tests.support.conductor.two_partitions import TwoPartitionCluster
from tests.support.stride import offset

UUIDS = uuid_list(2)
SAMPLE = 7


def make_cluster(kill_switch: KillSwitch | None = None) -> TwoPartitionCluster:
    """Return a cluster with two instances on the only host of PARTITION; WEST has two hosts, each for one of them."""
    cluster = TwoPartitionCluster({"h1/n": 2}, {"w1/n": 1, "w2/n": 1})
    cluster.conductor()
    cluster.build(UUIDS)
    cluster.settle()
    assert [(cluster.record(uuid).host, cluster.record(uuid).partition) for uuid in UUIDS] == [("h1/n", PARTITION)] * 2
    if kill_switch is not None:
        cluster.conductors.clear()
        cluster.conductor(kill_switch)
        cluster.conductor()
    return cluster


def partitions(cluster: TwoPartitionCluster) -> list[tuple[str | None, str | None]]:
    """Return for each instance the partitions of its claim and of its source's."""
    return [(cluster.partition_of(uuid), cluster.partition_of(migration_of(uuid))) for uuid in UUIDS]


def test_move_stays_in_its_partition_unless_it_may_leave_it() -> None:
    cluster = make_cluster()
    cluster.migrate(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.migration(uuid).status for uuid in UUIDS] == ["error"] * 2
    assert "No valid host" in (cluster.migration(UUIDS[0]).reason or "")
    assert partitions(cluster) == [(PARTITION, None)] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_each_end_has_its_claim_in_its_own_partition_until_the_move_ends(end: str) -> None:
    cluster = make_cluster()
    cluster.migrate(UUIDS, allow_cross_cell=True)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2
    assert partitions(cluster) == [(WEST, PARTITION)] * 2
    assert [cluster.record(uuid).partition for uuid in UUIDS] == [WEST] * 2
    cluster.check(UUIDS)
    getattr(cluster, end)(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    partition = WEST if end == "confirm" else PARTITION
    assert partitions(cluster) == [(partition, None)] * 2
    assert [cluster.record(uuid).partition for uuid in UUIDS] == [partition] * 2
    cluster.check(UUIDS)


def test_server_moves_back_and_forth_between_partitions() -> None:
    cluster = make_cluster()
    for number, (source, destination) in enumerate([(PARTITION, WEST), (WEST, PARTITION), (PARTITION, WEST)], 1):
        cluster.migrate(UUIDS, migrations=[migration_of(uuid, number) for uuid in UUIDS], allow_cross_cell=True)
        cluster.settle()
        places = [(cluster.migration(uuid).source_partition, cluster.record(uuid).partition) for uuid in UUIDS]
        assert places == [(source, destination)] * 2
        cluster.confirm(UUIDS)
        cluster.settle()
        cluster.check(UUIDS)
        assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2


def migrate(cluster: TwoPartitionCluster, number: int) -> None:
    cluster.migrate(UUIDS[:1], migrations=[migration_of(UUIDS[0], number)], allow_cross_cell=True)
    cluster.settle()


@pytest.mark.parametrize("step", ["cast", "verify"])
def test_records_from_an_earlier_migration_follow_the_later_one(step: str) -> None:
    # Given records from before a migration that was reverted, and another one to the same partition
    cluster = make_cluster()
    cluster.migrate(UUIDS[:1], migrations=[migration_of(UUIDS[0], 1)], allow_cross_cell=True)
    while cluster.record(UUIDS[0]).step != step:
        cluster.work()
        cluster.hosts.deliver()
    records = cluster.copy_records()
    cluster.settle()
    cluster.revert(UUIDS[:1])
    cluster.settle()
    migrate(cluster, 2)
    place = cluster.record(UUIDS[0]).host
    # When the conductors' store has them again
    cluster.restore_records(records)
    cluster.settle()
    cluster.compare()
    cluster.settle()
    # Then the later migration waits for confirm or revert
    assert (cluster.statuses(UUIDS[:1]), cluster.record(UUIDS[0]).host) == (["VERIFY_RESIZE"], place)
    assert cluster.migration(UUIDS[0]).uuid == migration_of(UUIDS[0], 2)
    cluster.check(UUIDS)


@pytest.mark.parametrize("recorded", [None, 7], ids=["no move", "another move"])
def test_destination_of_an_unknown_move_is_settled_with_its_source(recorded: int | None) -> None:
    # Given a record with the destination of a move that it does not have
    cluster = make_cluster()
    migrate(cluster, 1)
    record = cluster.record(UUIDS[0])
    another = recorded and replace(record.move, uuid=migration_of(UUIDS[0], recorded))
    lost_record = replace(record, status=InstanceStatus.BUILDING, step=SagaStep.SETTLE, migration=another or None)
    cluster.store.write_without_lease([lost_record], wake=True)
    # When it settles
    cluster.settle()
    # Then the move waits for confirm or revert again
    assert cluster.statuses(UUIDS[:1]) == ["VERIFY_RESIZE"]
    migration = cluster.migration(UUIDS[0])
    assert (migration.uuid, migration.source_host) == (migration_of(UUIDS[0], 1), "h1/n")
    cluster.check(UUIDS)


@pytest.mark.parametrize("has_moved", [False, True], ids=["first", "second"])
def test_forgotten_destination_that_was_not_built_is_not_adopted(has_moved: bool) -> None:
    # Given a destination in another partition without a build, which the conductors' store forgot
    cluster = make_cluster()
    records = cluster.copy_records()
    if has_moved:
        migrate(cluster, 1)
        cluster.revert(UUIDS[:1])
        cluster.settle()
    cluster.migrate(UUIDS[:1], migrations=[migration_of(UUIDS[0], 2)], allow_cross_cell=True)
    while cluster.record(UUIDS[0]).step != "stop_source":
        cluster.work()
    cluster.hosts.queue.clear()
    cluster.restore_records(records)
    # When the server is migrated again
    cluster.migrate(UUIDS[:1], migrations=[migration_of(UUIDS[0], 3)], allow_cross_cell=True)
    # Then it runs on, once
    for _ in range(20):
        cluster.work()
        cluster.hosts.deliver()
        assert len(cluster.hosts.running_guests_of(UUIDS[0])) <= 1
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert cluster.record(UUIDS[0]).host == "h1/n"
    cluster.check(UUIDS)


def move(end: str) -> Callable[[TwoPartitionCluster], None]:
    def play(cluster: TwoPartitionCluster) -> None:
        cluster.migrate(UUIDS, allow_cross_cell=True)
        cluster.settle()
        if end:
            getattr(cluster, end)([uuid for uuid in UUIDS if cluster.record(uuid).status == "VERIFY_RESIZE"])
        cluster.settle()

    return play


def delete_after(rounds: int) -> Callable[[TwoPartitionCluster], None]:
    """Delete the first instance after some rounds of work and messages of its move."""

    def play(cluster: TwoPartitionCluster) -> None:
        cluster.migrate(UUIDS, allow_cross_cell=True)
        for _ in range(rounds):
            cluster.work()
            cluster.hosts.deliver()
        cluster.delete(UUIDS[:1])
        cluster.settle()

    return play


def fail_first(cluster: TwoPartitionCluster) -> None:
    """Let the first attempt at the destination fail: no alternate has capacity, and it returns to its source."""
    cluster.hosts.behaviours[UUIDS[0], 2] = "failed"
    move("")(cluster)


STORIES = {
    "confirmed": (move("confirm"), [(WEST, None)] * 2),
    "reverted": (move("revert"), [(PARTITION, None)] * 2),
    "one fails": (fail_first, [(PARTITION, None), (WEST, PARTITION)]),
    "deleted at once": (delete_after(0), [(None, None), (WEST, PARTITION)]),
    "deleted while it moves": (delete_after(1), [(None, None), (WEST, PARTITION)]),
    "deleted while it is built": (delete_after(2), [(None, None), (WEST, PARTITION)]),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", [SAMPLE, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", STORIES)
def test_conductor_killed_at_any_call(name: str, step: int, after: bool) -> None:
    play, places = STORIES[name]
    whole = make_cluster()
    play(whole)
    assert partitions(whole) == places
    whole.check(UUIDS)
    for calls in itertools.count(1 + offset(step), step):
        kill_switch = KillSwitch(calls, after)
        cluster = make_cluster(kill_switch)
        play(cluster)
        if not kill_switch.blown:
            break
        cluster.now_ms += TTL_MS  # a claim whose answer was lost has expired then
        assert partitions(cluster) == places, calls
        cluster.check(UUIDS)
    assert calls > 10


# -- a conductors' store that forgot ----------------------------------------------------------------------------------


def forget_move(cluster: TwoPartitionCluster, end: str = "") -> None:
    """Move the instances, and restore the records from before."""
    records = cluster.copy_records()
    move(end)(cluster)
    cluster.restore_records(records)
    assert [(cluster.record(uuid).host, cluster.record(uuid).partition) for uuid in UUIDS] == [("h1/n", PARTITION)] * 2


def test_forgotten_move_is_rebuilt() -> None:
    cluster = make_cluster()
    forget_move(cluster)
    cluster.compare()
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2
    assert partitions(cluster) == [(WEST, PARTITION)] * 2
    assert [len(cluster.hosts.running_guests_of(uuid)) for uuid in UUIDS] == [1, 1]
    cluster.confirm(UUIDS)
    cluster.settle()
    assert partitions(cluster) == [(WEST, None)] * 2
    cluster.check(UUIDS)


def test_forgotten_confirmed_move_is_adopted() -> None:
    cluster = make_cluster()
    forget_move(cluster, "confirm")
    cluster.compare()
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).partition for uuid in UUIDS] == [WEST] * 2
    assert partitions(cluster) == [(WEST, None)] * 2
    cluster.check(UUIDS)


def test_confirm_of_a_forgotten_revert_starts_no_second_guest() -> None:
    # Given a revert whose source runs again, while its destination still keeps the guest
    cluster = make_cluster()
    migrate(cluster, 1)
    records = cluster.copy_records()
    cluster.revert(UUIDS[:1])
    while cluster.record(UUIDS[0]).step != SagaStep.TERMINATE:
        cluster.work()
        cluster.hosts.deliver()
    followed = cluster.record(UUIDS[0]).transition_number
    # When the conductors' store forgets it, the owner confirms the move, and the source ignores its end
    cluster.restore_records(records)
    cluster.confirm(UUIDS[:1])
    report = objects.BuildReport.of(
        host="h1", uuids=UUIDS[:1], attempts=[1], outcomes=["active"], reasons=[""], transitions=[followed + 1]
    )
    intake.record(cluster.conductors[0], CTXT, report)
    cluster.settle()
    # Then the server stays on its source
    assert cluster.hosts.running_guests_of(UUIDS[0]) == [(UUIDS[0], 1)]
    assert (cluster.statuses(UUIDS[:1]), cluster.record(UUIDS[0]).partition) == (["ACTIVE"], PARTITION)
    cluster.check(UUIDS)


def test_fence_of_the_source_of_a_forgotten_move_leaves_the_destination() -> None:
    cluster = make_cluster()
    forget_move(cluster)
    cluster.ledger.by_partition[PARTITION].store.fence("h1", "token", force=True)
    cluster.compare()
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).partition for uuid in UUIDS] == [WEST] * 2
    assert partitions(cluster) == [(WEST, None)] * 2


def test_lost_instance_is_looked_for_until_another_partition_answers() -> None:
    cluster = make_cluster()
    forget_move(cluster, "confirm")
    west = cluster.ledger.by_partition[WEST].store
    west.away = True
    cluster.compare()
    cluster.settle(60_000)
    assert [cluster.record(uuid).step for uuid in UUIDS] == ["abort"] * 2
    west.away = False
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).partition for uuid in UUIDS] == [WEST] * 2


def test_forgotten_move_is_not_ended_while_another_partition_does_not_answer() -> None:
    cluster = make_cluster()
    forget_move(cluster)
    cluster.claims_of(WEST).down = errors.StoreUnavailable(why="away")
    cluster.compare()
    cluster.settle(60_000)
    assert partitions(cluster) == [(WEST, PARTITION)] * 2
    cluster.claims_of(WEST).down = None
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2


def forget_second_move(cluster: TwoPartitionCluster) -> objects.BuildReport:
    """Move the instances, back, and again, and restore the records of the first move.

    Return what the host of the source, which was stopped for the second move, reports since.
    """
    cluster.migrate(UUIDS, allow_cross_cell=True)
    cluster.settle()
    records = cluster.copy_records()
    cluster.revert(UUIDS)
    cluster.settle()
    second = [migration_of(uuid, 2) for uuid in UUIDS]
    cluster.migrate(UUIDS, allow_cross_cell=True, migrations=second)
    cluster.settle()
    report = objects.BuildReport.of(
        host="h1",
        uuids=UUIDS,
        attempts=[1, 1],
        outcomes=["stopped"] * 2,
        reasons=[""] * 2,
        transitions=[cluster.record(uuid).transition_number for uuid in UUIDS],
        migrations=second,
    )
    cluster.restore_records(records)
    return report


def test_forgotten_alternate_in_another_partition_keeps_the_server() -> None:
    # Given a server that is to return from the alternate of a destination, and records from before
    cluster = make_cluster()
    cluster.hosts.behaviours[UUIDS[0], 2] = "refused"
    cluster.migrate(UUIDS[:1], allow_cross_cell=True)
    cluster.work()
    records = cluster.copy_records()
    refusing_host = cluster.record(UUIDS[0]).host
    cluster.settle()
    assert cluster.record(UUIDS[0]).host != refusing_host
    cluster.revert(UUIDS[:1])
    cluster.work()
    cluster.restore_records(records)
    # When these records hear of the stop for its return, and of the refusal
    cluster.hosts.deliver()
    report = objects.BuildReport.of(
        host=names.host_of(refusing_host), uuids=UUIDS[:1], attempts=[2], outcomes=["refused"], reasons=["full"]
    )
    intake.record(cluster.conductors[0], CTXT, report)
    cluster.settle()
    # Then it waits for confirm or revert on the alternate, and returns if asked again
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE", "ACTIVE"]
    assert [attempt for _uuid, attempt in cluster.hosts.running_guests_of(UUIDS[0])] == [3]
    cluster.revert(UUIDS[:1])
    cluster.settle()
    assert [(cluster.record(uuid).host, cluster.record(uuid).status) for uuid in UUIDS] == [("h1/n", "ACTIVE")] * 2
    assert partitions(cluster) == [(PARTITION, None)] * 2
    cluster.check(UUIDS)


def test_source_reports_a_forgotten_second_move() -> None:
    cluster = make_cluster()
    report = forget_second_move(cluster)
    for _ in range(2):
        intake.record(cluster.conductors[0], CTXT, report)
        cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2
    assert [cluster.migration(uuid).uuid for uuid in UUIDS] == report.migrations
    cluster.revert(UUIDS)
    cluster.settle()
    assert [(cluster.record(uuid).host, cluster.record(uuid).status) for uuid in UUIDS] == [("h1/n", "ACTIVE")] * 2
    cluster.check(UUIDS)


def test_deletion_ends_the_source_of_a_forgotten_second_move() -> None:
    cluster = make_cluster()
    report = forget_second_move(cluster)
    cluster.delete(UUIDS)
    intake.record(cluster.conductors[0], CTXT, report)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED"] * 2
    cluster.check(UUIDS)


# -- affinity groups --------------------------------------------------------------------------------------------------

AFFINITY = {"group_id": "g", "group_policy": "affinity"}


def make_group(kill_switch: KillSwitch | None = None) -> TwoPartitionCluster:
    """Return a cluster with an affinity group of two requests on the only host of PARTITION; one of WEST takes both."""
    cluster = TwoPartitionCluster({"h1/n": 4}, {"w1/n": 2, "w2/n": 3})
    cluster.conductor()
    for uuid, spec in zip(UUIDS, (SPEC, LARGE), strict=True):
        cluster.build([uuid], spec.with_values(**AFFINITY, force_hosts=["h1"]))
        cluster.settle()
    assert partitions(cluster) == [(PARTITION, None)] * 2
    if kill_switch is not None:
        cluster.conductors.clear()
        cluster.conductor(kill_switch)
        cluster.conductor()
    return cluster


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", [SAMPLE, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_affinity_group_moves_to_the_host_that_takes_all_in_the_other_partition(
    end: str, step: int, after: bool
) -> None:
    places = [(WEST, None)] * 2 if end == "confirm" else [(PARTITION, None)] * 2
    for calls in itertools.count(1 + offset(step), step):
        kill_switch = KillSwitch(calls, after)
        cluster = make_group(kill_switch)
        cluster.migrate(UUIDS, allow_cross_cell=True)
        cluster.settle()
        assert [cluster.record(uuid).host for uuid in UUIDS] == ["w2/n"] * 2, calls
        getattr(cluster, end)(UUIDS)
        cluster.settle()
        cluster.now_ms += TTL_MS
        assert partitions(cluster) == places, calls
        cluster.check(UUIDS)
        if not kill_switch.blown:
            break
    assert calls > 10


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_new_member_joins_the_group_where_it_is(end: str) -> None:
    cluster = make_group()
    cluster.migrate(UUIDS, allow_cross_cell=True)
    cluster.settle()
    getattr(cluster, end)(UUIDS)
    cluster.settle()
    (newcomer,) = uuid_list(3)[2:]
    cluster.build([newcomer], SPEC.with_values(**AFFINITY))
    cluster.settle()
    if end == "confirm":  # its host is full, and no other one is allowed
        assert cluster.record(newcomer).status == "ERROR"
    else:
        assert cluster.record(newcomer).host == "h1/n"
