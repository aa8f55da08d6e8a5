# SPDX-License-Identifier: Apache-2.0
"""Tables are created once, and those of a newer version rejected."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import column, select, table, update

from rpcapi import errors
from scheduler_svc.store.sql import SqlStore, schema, tables
from scheduler_svc.store.sql.schema import VERSION_TABLE
from tests.support.store.databases import engine

STARTS = """
import sys
from scheduler_svc.store.sql import SqlStore
store = SqlStore(sys.argv[1], "p1")
print("ready", flush=True)
sys.stdin.readline()
print(store.check_identity()[0])
"""
NEXT_VERSION = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "9998", {head!r}
def upgrade():
    op.add_column("pins", sa.Column("note", sa.Text, server_default="kept"))
"""


def test_concurrent_workers_create_the_tables_once(fresh: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", STARTS, fresh]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path.cwd())}, **pipes) for _ in range(2)]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 2
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert len({worker.communicate(timeout=60)[0] for worker in workers}) == 1
    assert [worker.returncode for worker in workers] == [0] * 2
    with engine(fresh).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE, "include_name": _is_ours}
        )
        # The migrated tables equal the tables defined in the code.
        assert compare_metadata(context, tables.METADATA) == []


def test_tables_of_an_earlier_version_are_migrated(fresh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqlStore(fresh, "p1")
    store.pin("request:r1", "p1", 60_000)
    folder = shutil.copytree(Path(schema.__file__).with_name("migrations"), tmp_path / "migrations")
    head = schema._scripts().get_current_head()
    (folder / "versions" / "v9998_note.py").write_text(NEXT_VERSION.format(head=head))
    config = Config()
    config.set_main_option("script_location", str(folder))
    monkeypatch.setattr(schema, "_config", lambda: config)
    schema._scripts.cache_clear()
    try:
        assert SqlStore(fresh, "p1").check_identity() == store.check_identity()
    finally:
        schema._scripts.cache_clear()
    with engine(fresh).connect() as connection:
        assert connection.execute(select(column("note")).select_from(table("pins"))).scalar_one() == "kept"


def test_tables_of_a_newer_version_are_rejected(fresh: str) -> None:
    SqlStore(fresh, "p1").check_identity()
    with engine(fresh).begin() as connection:
        connection.execute(update(table(VERSION_TABLE, column("version_num"))).values(version_num="9999"))
    with pytest.raises(errors.BadConfiguration, match=r"9999.*upgrade"):
        SqlStore(fresh, "p1").snapshot()


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or name in tables.METADATA.tables
