# SPDX-License-Identifier: Apache-2.0
"""Reads from, and exports to, the database servers that Placement runs on."""

import importlib.util
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, insert
from sqlalchemy.pool import NullPool

from devstack.servers.ports import free_port
from scheduler_svc.switching import placement_tables as tables
from scheduler_svc.switching.contents import Contents
from scheduler_svc.switching.copying import CopyPass
from scheduler_svc.switching.database import PlacementDatabase
from scheduler_svc.switching.database_reader import DatabaseReader
from scheduler_svc.switching.database_writer import DatabaseWriter
from tests.run_folders import claim_folder, release_folder
from tests.unit.scheduler_svc.switching.placement_database import PlacementFile, small_cloud, uuid_for

START_SECONDS = SHUTDOWN_SECONDS = 100
SYSTEM_TABLES = Path("/usr/share/mysql")  # where Debian has the statements that make them
READ_ONLY = "(?i)read.only"


@pytest.fixture(scope="module")
def mariadb_url() -> Iterator[str]:
    """The URL of a private MariaDB; skips where its server or driver is not installed."""
    has_server = shutil.which("mariadbd") is not None and SYSTEM_TABLES.is_dir()
    if not has_server or importlib.util.find_spec("pymysql") is None:
        pytest.skip("needs the programs of Debian's mariadb-server, and PyMySQL")
    folder, port = claim_folder(), free_port()
    (folder / "data").mkdir()
    program = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={folder / 'data'}", "--skip-grant-tables"]
    system = "".join(
        (SYSTEM_TABLES / f"mysql_{name}.sql").read_text() for name in ("system_tables", "system_tables_data")
    )
    subprocess.run(
        [*program, "--bootstrap"],
        input=f"CREATE DATABASE mysql;\nUSE mysql;\n{system}".encode(),
        check=True,
        capture_output=True,
    )
    log_path = folder / "mariadb.log"
    listening = ["--bind-address=127.0.0.1", f"--port={port}", f"--socket={folder / 'socket'}", "--skip-log-bin"]
    with log_path.open("wb") as log:
        server = subprocess.Popen([*program, *listening], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while b"ready for connections" not in log_path.read_bytes() and server.poll() is None:
            assert time.monotonic() < deadline, log_path.read_text()
            time.sleep(0.05)
        assert server.poll() is None, log_path.read_text()
        yield f"mysql://root@127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(SHUTDOWN_SECONDS)
    release_folder(folder)


@pytest.fixture(params=["postgresql", "mariadb"])
def url(request: pytest.FixtureRequest) -> Any:
    """The URL of a new, empty database with Placement's tables."""
    name = f"placement_{uuid.uuid4().hex[:8]}"
    if request.param == "mariadb":
        server = request.getfixturevalue("mariadb_url")
        admin, url = f"{server}mysql", f"{server}{name}?charset=utf8mb4"
        charset = " CHARACTER SET utf8mb4"
    else:
        admin, charset = request.getfixturevalue("postgresql_server").url(), ""
        url = admin.replace("/gantt?", f"/{name}?")
    assert url != admin
    engine = create_engine(_with_driver(admin), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}{charset}")
    tables.METADATA.create_all(create_engine(_with_driver(url), poolclass=NullPool))
    yield url
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name}")


@pytest.fixture
def source(tmp_path: Path) -> Contents:
    database = PlacementFile(tmp_path / "placement.sqlite")
    small_cloud(database)
    return DatabaseReader(PlacementDatabase(database.url)).read()


def _with_driver(url: str) -> str:
    return url.replace("mysql://", "mysql+pymysql://").replace("postgresql://", "postgresql+psycopg://")


def read(url: str) -> Contents:
    return DatabaseReader(PlacementDatabase(url)).read()


def write(url: str, source: Contents) -> None:
    target = read(url)
    with PlacementDatabase(url).transaction() as connection:
        writer = DatabaseWriter(connection)
        assert not CopyPass(source, target, writer, lambda *_: None).run().refusals
        writer.finish()


def test_what_is_written_is_read(url: str, source: Contents) -> None:
    write(url, source)
    target = read(url)
    assert (target.providers, target.consumers) == (source.providers, source.consumers)
    assert target.names.keys() == source.names.keys()
    # MariaDB's DATETIME has seconds only, and so have the times of the source.
    assert {record.changed_ms for record in target.consumers.values()} == {
        record.changed_ms for record in source.consumers.values()
    }


def test_a_snapshot_is_of_one_moment_and_read_only(url: str, source: Contents) -> None:
    write(url, source)
    other = create_engine(_with_driver(url), poolclass=NullPool)

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
