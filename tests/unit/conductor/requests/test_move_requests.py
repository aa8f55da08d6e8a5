# SPDX-License-Identifier: Apache-2.0
"""Moves that are refused, and change nothing, and requests that are repeated."""

from collections.abc import Callable
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.requests import moves
from conductor.requests.moves import confirm, revert
from conductor.requests.requested_changes import apply_to_migrations
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.resources import transient
from tests.support.conductor.simulated_cluster import CTXT, SPEC, SimulatedCluster, migration_of, uuid_list
from tests.unit.conductor.moving_servers import UUIDS, make_cluster


@pytest.fixture
def cluster() -> SimulatedCluster:
    return make_cluster()


@pytest.mark.parametrize(
    ("values", "error", "match"),
    [
        ({"host": "h1"}, errors.InvalidRequest, "is on h1/n: another host is required"),
        ({"host": "H1"}, errors.InvalidRequest, "is on h1/n: another host is required"),
        ({"host": "h1/n"}, errors.InvalidRequest, "is on h1/n: another host is required"),
        ({"host": "h9"}, errors.UnknownHost, "h9"),
        ({"host": "h3"}, errors.NoValidHost, "h3 takes none of them"),
        ({"host": "a|b"}, errors.InvalidName, "a|b"),
        ({"migrations": ["x"]}, errors.InvalidName, "is not the uuid of a migration"),
        ({"migrations": []}, errors.InvalidCount, "not 0"),
        (
            {"migrations": uuid_list(4)[2:]},
            errors.InvalidRequest,
            "each of 1 instances needs the uuid of its migration",
        ),
        ({"migrations": UUIDS[1:]}, errors.InvalidRequest, "is the uuid of an instance"),
    ],
)
def test_invalid_migrations_are_refused_and_nothing_is_changed(
    cluster: SimulatedCluster, values: dict[str, Any], error: type[Exception], match: str
) -> None:
    cluster.scheduler.full = {"h3/n"}
    before = cluster.store.get(UUIDS)
    ids = values.get("migrations", [migration_of(UUIDS[0])])
    with pytest.raises(error, match=match):
        moves.migrate(cluster.conductors[0], CTXT, UUIDS[:1], ids, values.get("host"))
    assert cluster.store.get(UUIDS) == before


def test_target_that_was_just_lost_is_tried_again(cluster: SimulatedCluster) -> None:
    cluster.scheduler.full, cluster.scheduler.full_reason = {"h3/n"}, transient.JUST_DOWN
    moves.migrate(cluster.conductors[0], CTXT, UUIDS[:1], [migration_of(UUIDS[0])], "h3")
    cluster.work()
    assert cluster.store.get(UUIDS)[UUIDS[0]].host == "h3/n"


def test_target_that_no_scheduler_checks_is_refused_and_nothing_is_changed(cluster: SimulatedCluster) -> None:
    cluster.scheduler.unanswered = messaging.MessagingTimeout("no answer")
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.Unavailable, match="The scheduler cannot be reached"):
        moves.migrate(cluster.conductors[0], CTXT, UUIDS[:1], [migration_of(UUIDS[0])], "h3")
    assert cluster.store.get(UUIDS) == before


def test_migration_of_another_instance_is_refused(cluster: SimulatedCluster) -> None:
    cluster.migrate(UUIDS[:1])
    with pytest.raises(errors.InvalidRequest, match=f"belongs to instance {UUIDS[0]}"):
        cluster.migrate(UUIDS[1:], migrations=[migration_of(UUIDS[0])])


def test_flavor_that_the_server_has_and_an_invalid_one_are_refused(cluster: SimulatedCluster) -> None:
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.InvalidSpec, match="already has flavor 'tiny'"):
        cluster.resize(UUIDS, SPEC)
    with pytest.raises(errors.GanttError):
        cluster.resize(UUIDS, objects.RequestSpec.of(resources={"VCPU": -1}))
    assert cluster.store.get(UUIDS) == before


def test_repeated_request_is_the_same_move(cluster: SimulatedCluster) -> None:
    cluster.migrate(UUIDS)
    for _ in range(4):
        cluster.work()
        before = cluster.store.get(UUIDS)
        cluster.migrate(UUIDS)
        assert cluster.store.get(UUIDS) == before
        cluster.hosts.deliver()
    cluster.settle()
    cluster.confirm(UUIDS)
    cluster.settle()
    cluster.migrate(UUIDS)
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2


def test_ends_of_moves_are_accepted_once_and_only_of_finished_ones(cluster: SimulatedCluster) -> None:
    def end(change: Callable[[InstanceRecord, MigrationRecord], InstanceRecord | None], migration: str) -> None:
        apply_to_migrations(cluster.conductors[0], [migration], change, "end")

    first, second = (migration_of(uuid) for uuid in UUIDS)
    with pytest.raises(errors.UnknownMigration):
        end(confirm, first)
    cluster.migrate(UUIDS)
    for change in (confirm, revert):
        with pytest.raises(errors.InstanceConflict, match="it is RESIZE, and its migration preparing; only a finished"):
            end(change, first)
    cluster.settle()
    cluster.confirm(UUIDS[:1])
    cluster.revert(UUIDS[1:])
    for _ in range(2):  # while they end, and afterwards
        before = cluster.store.get(UUIDS)
        end(confirm, first)
        end(revert, second)
        with pytest.raises(errors.InstanceConflict, match="only a finished migration can be reverted"):
            end(revert, first)
        with pytest.raises(errors.InstanceConflict, match="only a finished migration can be confirmed"):
            end(confirm, second)
        assert cluster.store.get(UUIDS) == before
        cluster.settle()
    cluster.migrate(UUIDS, migrations=[migration_of(uuid, 2) for uuid in UUIDS])
    with pytest.raises(errors.InstanceConflict, match="is not its last migration"):
        end(confirm, first)
