# SPDX-License-Identifier: Apache-2.0
"""Migrations as the conductor returns them."""

from dataclasses import replace

import pytest

from conductor.collaborators import Conductor
from conductor.migrations import get_migrations, list_migrations
from conductor.store.memory import MemoryConductorStore
from conductor.store.migrations import MigrationRecord
from rpcapi import errors
from rpcapi.resources.statuses import MigrationKind, MigrationStatus
from tests.support.conductor.bench import request
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import uuid_list

INSTANCES = uuid_list(3)
UUIDS = uuid_list(4)[1:]
ENDED = {"attempt": 2, "host": "g/n", "outcome": "refused", "reason": "r"}


@pytest.fixture
def conductor() -> Conductor:
    store = MemoryConductorStore(clock=lambda: 1000)
    store.record(request(), INSTANCES)
    for instance, uuid in zip(INSTANCES, UUIDS, strict=True):
        migration = MigrationRecord(
            uuid,
            instance,
            MigrationKind.MIGRATION,
            status=MigrationStatus.MIGRATING,
            source_host="h/n",
            destination_host="k/n",
            destination_attempt=3,
            history=[ENDED],
            request_id="req-1",
        )
        record = replace(store.get([instance])[instance], migration=migration)
        store.write_without_lease([record], wake=False)
    return make_conductor(store, max_instances=2)


def test_migration_has_the_fields_of_its_record(conductor: Conductor) -> None:
    (migration,) = get_migrations(conductor, UUIDS[1:2]).migrations
    assert (migration.uuid, migration.instance) == (UUIDS[1], INSTANCES[1])
    assert (migration.kind, migration.status, migration.request_id) == ("migration", "migrating", "req-1")
    assert (migration.source_host, migration.source_attempt, migration.target) == ("h/n", 1, None)
    assert (migration.destination_host, migration.destination_attempt) == ("k/n", 3)
    assert (migration.history, migration.created_ms, migration.updated_ms) == ([ENDED], 1000, 1000)


def test_migrations_are_in_the_order_of_the_call(conductor: Conductor) -> None:
    uuids = [UUIDS[2], UUIDS[0]]
    assert [migration.uuid for migration in get_migrations(conductor, uuids).migrations] == uuids


def test_list_returns_all_pages(conductor: Conductor) -> None:
    page = list_migrations(conductor.store, None, 2)
    assert [migration.uuid for migration in page.migrations] == UUIDS[:2]
    page = list_migrations(conductor.store, page.marker, 2)
    assert ([migration.uuid for migration in page.migrations], page.marker) == (UUIDS[2:], None)


def test_unknown_migration_is_named(conductor: Conductor) -> None:
    unknown = uuid_list(9)[8]
    with pytest.raises(errors.UnknownMigration, match=unknown):
        get_migrations(conductor, [UUIDS[0], unknown])


@pytest.mark.parametrize(
    ("marker", "limit", "message"),
    [
        (None, 0, "limit must be a positive integer, got 0"),
        ("x", 1, "'x' is not a marker"),
    ],
)
def test_invalid_page_is_refused(conductor: Conductor, marker: str | None, limit: int, message: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=message):
        list_migrations(conductor.store, marker, limit)


@pytest.mark.parametrize("uuids", [["x"], [], UUIDS])
def test_invalid_uuids_are_refused(conductor: Conductor, uuids: list[str]) -> None:
    with pytest.raises(errors.InvalidRequest):
        get_migrations(conductor, uuids)
