# SPDX-License-Identifier: Apache-2.0
"""SQL backend: each verb is one transaction."""

import time
from collections.abc import Callable
from typing import Any, Concatenate, Unpack

from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.store.log import without_gap
from scheduler_svc.store.protocols.runner import P, T
from scheduler_svc.store.records import Durability, StoreOptions
from scheduler_svc.store.sql.database import PartitionRow, SqlDatabase
from scheduler_svc.store.sql.dialect import SqlDialect
from scheduler_svc.store.sql.identity import SqlIdentity
from scheduler_svc.store.sql.partition import SqlPartition
from scheduler_svc.store.sql.postgresql import Postgresql
from scheduler_svc.store.sql.sqlite import Sqlite
from scheduler_svc.store.verb_store import VerbStore
from scheduler_svc.store.verbs.whole_partition import WholePartition

BLOCK_SECONDS = 2.0  # longest wait of one ``follow``
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.05  # seconds between polls of the log by dialects without notifications


class SqlStore(VerbStore):
    def __init__(self, url: str, partition: str, **options: Unpack[StoreOptions]) -> None:
        super().__init__(partition, **options)
        self._identity = SqlIdentity(partition, self.options["log_length"])
        wait_seconds = self.options["wait_seconds"]
        self._dialect = _dialect(url, self.options["durability"], wait_seconds)
        self._database = SqlDatabase(self._dialect, self._identity, self.repeats, wait_seconds)

    def _follow(self, position: int, block_ms: int, limit: int) -> list[LogEntry] | None:
        deadline = time.monotonic() + min(block_ms / 1000, BLOCK_SECONDS)
        if block_ms > 0:
            self._database.run_with_retries(lambda: self._dialect.listen(self.partition))
        pause = FIRST_PAUSE
        while True:
            entries = self._read(lambda partition: self._entries(partition, position, limit))
            remaining = deadline - time.monotonic()
            if entries or entries is None or remaining <= 0:
                return entries
            self._dialect.await_news(self.partition, remaining, pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def check_identity(self) -> tuple[int, bool]:
        self._database.check_identity()
        return self._identity.high_water_mark[0], self._identity.take_epoch_change()

    def close(self) -> None:
        super().close()
        self._dialect.close()

    def _run(self, verb: Callable[Concatenate[Any, int, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        def work(connection: Connection, meta: PartitionRow, clock_ms: int) -> tuple[SqlPartition, T]:
            partition = self._open(connection, meta)
            now = partition.advance(clock_ms, self.options["max_step_ms"])
            answer = verb(partition, now, *arguments, **options)
            partition.flush(now)
            if partition.epoch != meta["epoch"]:
                self._identity.note_epoch_change()
            if partition.finish():
                self._dialect.announce(connection, self.partition)
            return partition, answer

        return self._observe(self._database.transact(work))

    def _read(self, verb: Callable[Concatenate[Any, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        def work(connection: Connection, meta: PartitionRow) -> tuple[SqlPartition, T]:
            partition = self._open(connection, meta)
            return partition, verb(partition, *arguments, **options)

        return self._observe(self._database.read(work))

    def _observe(self, outcome: tuple[SqlPartition, T]) -> T:
        partition, answer = outcome
        self._identity.observe(partition.epoch, partition.position)
        return answer

    def _open(self, connection: Connection, meta: PartitionRow) -> SqlPartition:
        by_group = self.options["liveness"] == "group"
        return SqlPartition(connection, meta, log_length=self.options["log_length"], by_group=by_group)

    @staticmethod
    def _entries(partition: WholePartition, position: int, limit: int) -> list[LogEntry] | None:
        entries = partition.entries(position, limit) if position < partition.position else []
        return without_gap(position, entries, partition.position)


def _dialect(url: str, durability: Durability, wait_seconds: float | None) -> SqlDialect:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise errors.BadConfiguration(why="[store] url is not a URL that SQLAlchemy can read") from error
    if parsed.get_backend_name() == "sqlite":
        return Sqlite(parsed, durability)
    return Postgresql(parsed, durability, wait_seconds)
