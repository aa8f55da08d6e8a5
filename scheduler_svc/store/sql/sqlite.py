# SPDX-License-Identifier: Apache-2.0
"""SQLite dialect: one file, for workers on one machine."""

import os
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, exc, text

from rpcapi import errors
from scheduler_svc.store.records import Durability
from scheduler_svc.store.sql.dialect import POOL, SqlDialect

BUSY_MS = 20  # SQLite's own wait for a different writer; short, because it blocks all green threads
SELECT_ROW = text(
    "SELECT partitions.*, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now "
    "FROM (SELECT 1) LEFT JOIN partitions ON name = :name"
)
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LOCKED = ("database is locked", "database table is locked", "database schema is locked")
READ_ONLY = "gantt_read_only"


class Sqlite(SqlDialect):
    """SQLite file in WAL mode: readers never wait, and writers run one at a time.

    Durability "always" syncs each commit to disk. With "everysec" a crash of the machine may lose commits, so that each
    boot gives the store a new identity.
    """

    def __init__(self, url: URL, durability: Durability) -> None:
        if url.database in (None, "", ":memory:") or url.host:
            raise errors.BadConfiguration(why="[store] url must name a file: sqlite:////absolute/path.sqlite")
        self._path = Path(str(url.database))
        if not self._path.is_absolute():
            raise errors.BadConfiguration(
                why=f"[store] url has the relative path {str(self._path)!r}; write sqlite:////absolute/path"
            )
        self._synchronous = "FULL" if durability == "always" else "NORMAL"
        self.engine = create_engine(url, connect_args={"timeout": BUSY_MS / 1000}, **POOL)
        self.read_options = {READ_ONLY: True}
        event.listen(self.engine, "do_connect", self._make_private)
        event.listen(self.engine, "connect", self._prepare)
        event.listen(self.engine, "checkout", self._require_same_file)
        event.listen(self.engine, "begin", _begin)

    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        row = connection.execute(SELECT_ROW, {"name": partition}).mappings().one()
        return (dict(row) if row["name"] is not None else None), int(row["now"])

    def identity(self, connection: Connection) -> str:
        _path, device, inode = connection.info["file"]
        boot = BOOT_ID.read_text().strip() if self._synchronous != "FULL" and BOOT_ID.exists() else "any"
        return f"sqlite {device}:{inode} boot {boot}"

    def await_news(self, partition: str, seconds: float, pause: float) -> None:
        time.sleep(min(seconds, pause))

    def is_transient(self, error: BaseException) -> bool:
        return isinstance(error, exc.OperationalError) and str(error.orig).startswith(LOCKED)

    def _make_private(self, _dialect: Any, _record: Any, _arguments: Any, _options: Any) -> None:
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise sqlite3.OperationalError(f"unable to open {self._path}: {error.strerror}") from error

    def _prepare(self, fresh: sqlite3.Connection, record: Any) -> None:
        fresh.isolation_level = None  # no transactions by the driver: ``_begin`` begins them
        for pragma in ("journal_mode = WAL", f"synchronous = {self._synchronous}", "cache_size = -16000"):
            fresh.execute(f"PRAGMA {pragma}")
        record.info["file"] = self._file()

    def _require_same_file(self, _connection: Any, record: Any, _proxy: Any) -> None:
        """Drop a pooled connection whose file was replaced at its path, for example by a restore."""
        if record.info["file"] != self._file():
            raise exc.DisconnectionError("the file at the path was replaced")

    def _file(self) -> tuple[str, int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return (str(self._path), status.st_dev, status.st_ino)


def _begin(connection: Connection) -> None:
    is_read_only = connection.get_execution_options().get(READ_ONLY)
    connection.exec_driver_sql("BEGIN" if is_read_only else "BEGIN IMMEDIATE")
