# SPDX-License-Identifier: Apache-2.0
"""Reads from, and exports to, the database servers that Placement runs on."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, insert, select
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.pool import NullPool

from scheduler_svc.databases import DRIVERS
from scheduler_svc.placement.migration import placement_tables as tables
from scheduler_svc.placement.migration.copying import CopyPass
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.database_writer import DatabaseWriter
from scheduler_svc.placement.migration.dump import PlacementDump
from tests.support.placement.placement_database import CHILD, PlacementFile, small_cloud, uuid_for

READ_ONLY = "(?i)read.only"


@pytest.fixture
def database(tmp_path: Path) -> PlacementFile:
    return small_cloud(tmp_path)


@pytest.fixture(params=["postgresql", "mariadb"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a new, empty database with Placement's tables."""
    server, name = request.getfixturevalue(f"{request.param}_server"), f"placement_{uuid.uuid4().hex[:8]}"
    charset = " CHARACTER SET utf8mb4" if request.param == "mariadb" else ""
    engine = engine_for(server.url(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}{charset}")
    url = server.url(name).replace("+pymysql", "")  # as operators write it
    tables.METADATA.create_all(engine_for(url))
    yield url
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name}")


@pytest.fixture
def source(database: PlacementFile) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(database.url)).read()


def engine_for(url: str, **options: Any) -> Engine:
    parsed = make_url(url)
    return create_engine(parsed.set(drivername=DRIVERS[parsed.get_backend_name()]), poolclass=NullPool, **options)


def read(url: str) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(url)).read()


def write(url: str, source: PlacementDump) -> None:
    target = read(url)
    with PlacementDatabase(url).transaction() as connection:
        writer = DatabaseWriter(connection)
        assert not CopyPass(source, target, writer, lambda *_: None).run().refusals
        writer.finish()


def test_what_is_written_is_read(url: str, source: PlacementDump) -> None:
    write(url, source)
    target = read(url)
    assert (target.providers, target.consumers) == (source.providers, source.consumers)
    assert target.names.keys() == source.names.keys()
    # MariaDB's DATETIME has seconds only, and so have the times of the source.
    assert {record.changed_ms for record in target.consumers.values()} == {
        record.changed_ms for record in source.consumers.values()
    }


def test_a_provider_is_deleted_after_its_tree_was_moved(url: str, source: PlacementDump) -> None:
    write(url, source)
    child, pool = uuid_for(CHILD), uuid_for("pool")
    # Given a child that is below the pool now, and its former root, which is gone
    providers = {child: replace(source.providers[child], parent=pool), pool: source.providers[pool]}
    write(url, replace(source, providers=providers, consumers={}))
    assert read(url).providers == providers
    with engine_for(url).connect() as connection:
        ids = {row.uuid: row.id for row in connection.execute(select(tables.PROVIDERS))}
        assert set(connection.scalars(select(tables.PROVIDERS.c.root_provider_id))) == {ids[pool]}


def test_a_snapshot_is_of_one_moment_and_read_only(url: str, source: PlacementDump) -> None:
    write(url, source)
    other = engine_for(url)

    def change(part: str) -> None:
        if part == "consumers":  # providers are read already
            with other.begin() as connection:
                connection.exec_driver_sql("DELETE FROM allocations")
                connection.exec_driver_sql("DELETE FROM consumers")
                connection.execute(insert(tables.PROVIDERS).values(uuid=uuid_for("new"), name="new", generation=0))

    reader = DatabaseReader(PlacementDatabase(url), change)
    seen_before = reader.read()
    assert (seen_before.providers, seen_before.consumers) == (source.providers, source.consumers)
    assert read(url).consumers == {}
    with pytest.raises(Exception, match=READ_ONLY), PlacementDatabase(url).snapshot() as connection:
        connection.exec_driver_sql("DELETE FROM resource_providers")
    assert uuid_for("new") in read(url).providers
