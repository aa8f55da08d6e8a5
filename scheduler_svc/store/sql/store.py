# SPDX-License-Identifier: Apache-2.0
"""The SQL backend: every verb in one transaction."""

import time
from collections.abc import Callable, Collection
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from rpcapi import errors
from scheduler_svc.store import records
from scheduler_svc.store.log import without_gap
from scheduler_svc.store.sql.database import Database, Meta
from scheduler_svc.store.sql.dialect import Dialect
from scheduler_svc.store.sql.identity import Identity
from scheduler_svc.store.sql.partition import SqlPartition
from scheduler_svc.store.sql.postgresql import Postgresql
from scheduler_svc.store.sql.sqlite import Sqlite
from scheduler_svc.store.verbs import Partition, VerbStore

T = TypeVar("T")

BLOCK_SECONDS = 2.0  # the longest that one follow waits
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.05  # seconds between looks at a log whose growth nobody tells


class SqlStore(VerbStore):
    """A partition in a SQL database."""

    def __init__(
        self,
        url: str,
        partition: str,
        *,
        durability: records.Durability = "everysec",
        log_length: int = 100_000,
        decisions: int = 10_000,
        liveness: records.Liveness = "beats",
        namespaces: Collection[str] = (),
    ) -> None:
        super().__init__(partition, decisions=decisions, namespaces=namespaces)
        self._identity = Identity(partition, log_length)
        self._dialect = _dialect(url, durability)
        self._database = Database(self._dialect, self._identity)
        self._log_length = log_length
        self._by_group = liveness == "group"

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[records.Entry] | None:
        deadline = time.monotonic() + min(block_ms / 1000, BLOCK_SECONDS)
        if block_ms > 0:
            self._database.each_try(lambda: self._dialect.listen(self.partition))
        pause = FIRST_PAUSE
        while True:
            found = self._look(lambda partition: self._entries(partition, position, limit))
            left = deadline - time.monotonic()
            if found or found is None or left <= 0:
                return found
            self._dialect.await_news(self.partition, left, pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def check_identity(self) -> tuple[int, bool]:
        self._database.make_sure()
        return self._identity.seen[0], self._identity.take_bumped()

    def close(self) -> None:
        self._dialect.close()

    def _act(self, step: Callable[[Partition, int], T]) -> T:
        def work(connection: Connection, meta: Meta, now: int) -> tuple[SqlPartition, T]:
            partition = self._open(connection, meta)
            answer = step(partition, now)
            partition.flush(now)
            if partition.finish():
                self._dialect.announce(connection, self.partition)
            return partition, answer

        return self._noted(self._database.act(work))

    def _look(self, step: Callable[[Partition], T]) -> T:
        def work(connection: Connection, meta: Meta) -> tuple[SqlPartition, T]:
            partition = self._open(connection, meta)
            return partition, step(partition)

        return self._noted(self._database.look(work))

    def _noted(self, done: tuple[SqlPartition, T]) -> T:
        partition, answer = done
        self._identity.saw(partition.epoch, partition.position)
        return answer

    def _open(self, connection: Connection, meta: Meta) -> SqlPartition:
        return SqlPartition(connection, meta, log_length=self._log_length, by_group=self._by_group)

    @staticmethod
    def _entries(partition: Partition, position: int, limit: int) -> list[records.Entry] | None:
        found = partition.entries(position, limit) if position < partition.position else []
        return without_gap(position, found, partition.position)


def _dialect(url: str, durability: records.Durability) -> Dialect:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise errors.BadConfiguration(why="[store] url is not one that SQLAlchemy can read") from error
    if parsed.get_backend_name() == "sqlite":
        return Sqlite(parsed, durability)
    return Postgresql(parsed, durability)
