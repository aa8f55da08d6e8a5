# SPDX-License-Identifier: Apache-2.0
"""Stores that forget what was written since a moment, as their servers do: no key or row is changed by the test.

Each kind has one deployment, whose partitions and conductors' records forget together, once.
"""

import abc
import contextlib
import sqlite3
import time
import uuid
from pathlib import Path
from urllib.parse import quote

from conductor.store.interface import ConductorStore
from scheduler_svc.store.aggregates import NAMESPACE
from tests.support.conductor.bench import memory_bench
from tests.support.private_servers.postgresql import DATABASE, USER, PostgresqlServer
from tests.support.store.backends import memory_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition

NAMESPACES = [NAMESPACE]
FAILOVER_SECONDS = 60.0


class ForgetfulStores(abc.ABC):
    """The partitions and the conductors' store of a deployment, which ``forget`` what was written since ``keep``."""

    def __init__(self) -> None:
        self._partitions: list[StorePartition] = []
        self._records: ConductorStore | None = None

    def partition(self) -> StorePartition:
        """Return a new partition without hosts."""
        partition = self._open_partition()
        self._partitions.append(partition)
        return partition

    def records(self) -> ConductorStore:
        """Return the conductors' store; a deployment has one."""
        if self._records is None:
            self._records = self._open_records()
        return self._records

    def now(self) -> int:
        """Return the time of the conductors' store in milliseconds."""
        return round(1000 * time.time())

    @abc.abstractmethod
    def keep(self) -> None:
        """Return when all that is written so far will outlive ``forget``, and nothing else will."""

    def forget(self) -> None:
        """Forget what was written since ``keep``; then a worker names the hosts of each partition, which awaits them.

        Fails where a partition has begun no epoch.
        """
        before = [partition.store.snapshot().epoch for partition in self._partitions]
        self._lose()
        for partition, epoch in zip(self._partitions, before, strict=True):
            later, _ = partition.store.check_identity()
            assert later > epoch, f"no epoch has begun: {later}"
            partition.store.name_hosts(later, [], complete=True)

    def close(self) -> None:
        """Close all connections."""
        for store in (*(partition.store for partition in self._partitions), self._records):
            if store is not None:
                store.close()

    @abc.abstractmethod
    def _open_partition(self) -> StorePartition: ...

    def _open_records(self) -> ConductorStore:
        raise NotImplementedError("the conductors have no store of this kind")

    @abc.abstractmethod
    def _lose(self) -> None: ...


class MemoryStores(ForgetfulStores):
    """Stores in this process, which are replaced by copies."""

    def __init__(self) -> None:
        super().__init__()
        self._bench = memory_bench()

    def now(self) -> int:
        return self._bench.now()

    def keep(self) -> None:
        self._marks = [partition.mark() for partition in self._partitions]
        self._record_mark = self._bench.mark()

    def _open_partition(self) -> StorePartition:
        return memory_partition(partition=uuid.uuid4().hex[:12], namespaces=NAMESPACES)

    def _open_records(self) -> ConductorStore:
        return self._bench.store

    def _lose(self) -> None:
        for partition, mark in zip(self._partitions, self._marks, strict=True):
            partition.forget_and_collect(mark)
        self._bench.forget_since(self._record_mark)
        self._bench.store.begin_epoch()  # type: ignore[attr-defined]


class SqliteFile(ForgetfulStores):
    """A file that is replaced by its backup."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._file, self._backup = folder / "store.sqlite", folder / "backup.sqlite"

    def keep(self) -> None:
        with (
            contextlib.closing(sqlite3.connect(self._file)) as reader,
            contextlib.closing(sqlite3.connect(self._backup)) as writer,
        ):
            reader.backup(writer)

    def _open_partition(self) -> StorePartition:
        return sql_partition(f"sqlite:///{self._file}", namespaces=NAMESPACES)

    def _lose(self) -> None:
        for log in self._file.parent.glob(f"{self._file.name}-*"):
            log.unlink()
        self._backup.replace(self._file)


class PostgresqlPair(ForgetfulStores):
    """A primary whose standby was cut off, and is promoted."""

    def __init__(self, primary: PostgresqlServer, standby: PostgresqlServer) -> None:
        super().__init__()
        self._primary, self._standby = primary, standby
        places = "&".join(f"host={quote(str(server.folder))}" for server in (primary, standby))
        self._url = f"postgresql://{USER}@/{DATABASE}?{places}&target_session_attrs=read-write"

    def keep(self) -> None:
        self._standby.follow(self._primary)

    def _open_partition(self) -> StorePartition:
        return sql_partition(self._url, namespaces=NAMESPACES)

    def _lose(self) -> None:
        self._primary.kill()
        self._standby.start()
        self._standby.promote()
