# SPDX-License-Identifier: Apache-2.0
"""What is read from a Placement database."""

import sqlite3
from pathlib import Path

import pytest

from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.dump import UNKNOWN_OWNER, CustomNameKind, PlacementDump
from scheduler_svc.placement.migration.failures import PlacementUnavailable
from scheduler_svc.placement.migration.sources import database_url, open_source
from tests.support.placement.placement_database import (
    CHILD,
    CREATED_MS,
    UPDATED_MS,
    PlacementFile,
    uuid_for,
)


def read(database: PlacementFile) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(database.url)).read()


def test_providers_are_read_whole(database: PlacementFile) -> None:
    providers = read(database).providers
    host = providers[uuid_for("host-1")]
    assert (host.name, host.parent, host.generation) == ("host-1", None, 57)
    assert host.inventories == {"VCPU": Inventory(8, max_unit=8, allocation_ratio=1.15)}
    assert (host.traits, host.aggregates) == ({"HW_CPU_X86_AVX"}, {"a1"})
    assert (host.created_ms, host.changed_ms) == (CREATED_MS, UPDATED_MS)
    child = providers[uuid_for(CHILD)]
    assert (child.name, child.parent) == (CHILD, host.provider)
    assert len(providers) == 3


def test_consumers_are_read_whole(database: PlacementFile) -> None:
    consumers = read(database).consumers
    first, second = consumers[uuid_for("vm-1")], consumers[uuid_for("vm-2")]
    assert (first.project, first.user, first.type, first.generation) == ("project-1", "user-1", "INSTANCE", 5)
    assert first.allocations == {
        uuid_for("host-1"): {"VCPU": 2},
        uuid_for(CHILD): {"CUSTOM_SLOT": 2},
        uuid_for("pool"): {"DISK_GB": 8},
    }
    assert (second.type, second.project, second.changed_ms) == ("", "project-2", UPDATED_MS)


def test_custom_names_are_read(database: PlacementFile) -> None:
    database.execute("INSERT INTO traits (name, created_at) VALUES ('CUSTOM_UNUSED', '2024-01-02 03:04:05')")
    assert read(database).names == {
        (CustomNameKind.TRAIT, "CUSTOM_FAST"): UPDATED_MS,
        (CustomNameKind.TRAIT, "CUSTOM_UNUSED"): CREATED_MS,
        (CustomNameKind.RESOURCE_CLASS, "CUSTOM_SLOT"): UPDATED_MS,
    }


def test_what_is_not_carried_is_noted(database: PlacementFile) -> None:
    database.consumer("idle", {})
    database.execute("INSERT INTO allocations VALUES (NULL, NULL, NULL, 1, 'nobody', 1, 1)")
    database.execute("INSERT INTO allocations VALUES (NULL, NULL, NULL, 99, 'dangling', 1, 1)")
    contents = read(database)
    assert [note.split(":")[0] for note in contents.notes] == [
        "1 allocations are on a provider or of a resource class that does not exist",
        "1 consumers have no allocations",
        "1 consumers have no project and user",
    ]
    nobody = contents.consumers["nobody"]
    assert (nobody.project, nobody.user, nobody.generation) == (UNKNOWN_OWNER, UNKNOWN_OWNER, 0)
    assert {"dangling", uuid_for("idle")}.isdisjoint(contents.consumers)


def test_consumers_of_an_older_schema_have_no_types(database: PlacementFile) -> None:
    database.execute("ALTER TABLE consumers DROP COLUMN consumer_type_id")
    database.execute("DROP TABLE consumer_types")
    assert {consumer.type for consumer in read(database).consumers.values()} == {""}


def test_the_database_is_read_as_of_one_moment_and_never_written(database: PlacementFile) -> None:
    opened = PlacementDatabase(database.url)
    parts: list[str] = []

    def change(part: str) -> None:
        parts.append(part)
        if part == "consumers":
            with pytest.raises(sqlite3.OperationalError):  # a writer has to wait: the transaction is open
                connection = sqlite3.connect(database.path, timeout=0)
                connection.execute("DELETE FROM consumers")
                connection.commit()
            connection.close()

    assert len(DatabaseReader(opened, change).read().consumers) == 2
    assert parts == ["providers", "consumers"]
    with opened.snapshot() as connection, pytest.raises(Exception, match="readonly"):
        connection.exec_driver_sql("DELETE FROM consumers")


def test_what_is_no_placement_database_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing.sqlite"
    with pytest.raises(PlacementUnavailable, match="there is no file"):
        PlacementDatabase(f"sqlite:///{missing}")
    assert not missing.exists()
    missing.touch()
    with pytest.raises(PlacementUnavailable, match="it has no table allocations"):
        DatabaseReader(PlacementDatabase(f"sqlite:///{missing}")).read()
    missing.write_text("no database", encoding="utf-8")
    with pytest.raises(PlacementUnavailable, match="not a database"):
        DatabaseReader(PlacementDatabase(f"sqlite:///{missing}")).read()
    for url in ("nonsense://", "//"):
        with pytest.raises(PlacementUnavailable):
            open_source(url, lambda *_: None)


def test_the_database_of_a_placement_conf_is_read(database: PlacementFile, tmp_path: Path) -> None:
    conf = tmp_path / "placement.conf"
    conf.write_text(f"[placement_database]\nconnection = {database.url}\n[other]\nkey = value\n", encoding="utf-8")
    assert database_url(str(conf)) == database.url
    assert len(open_source(str(conf), lambda *_: None).read().providers) == 3
    conf.write_text("[placement_database]\n", encoding="utf-8")
    with pytest.raises(PlacementUnavailable, match="no option connection"):
        database_url(str(conf))
