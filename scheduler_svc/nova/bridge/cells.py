# SPDX-License-Identifier: Apache-2.0
"""Concurrent reads of all cells' databases: an unresponsive cell delays no other cell."""

import threading
from collections.abc import Callable, Mapping, Sequence

from oslo_log import log
from sqlalchemy.exc import SQLAlchemyError

from scheduler_svc import databases
from scheduler_svc.nova.bridge.cell_database import CellDatabase
from scheduler_svc.nova.bridge.documents import CellMapping
from scheduler_svc.nova.bridge.signals import Unanswerable

LOG = log.getLogger(__name__)


OpenDatabase = Callable[[str], CellDatabase]


class CellReader:
    """Reader of one cell's database, with one thread per read.

    Attributes:
        database: None until opened.
        is_current: Whether the last read succeeded.
    """

    def __init__(self, cell: CellMapping, open_database: OpenDatabase) -> None:
        self.database: CellDatabase | None = None
        self.database_url = cell.database_url
        self._open = open_database
        self.is_current = False
        self._name = cell.name or cell.uuid
        self._thread: threading.Thread | None = None
        self._needs_everything = True  # initially, and after a failure, which leaves the copy in an unknown state
        self._is_away = False

    def start(self, *, everything: bool) -> None:
        """Start a read, unless one is in progress."""
        if self._thread is not None and self._thread.is_alive():
            return
        self.is_current = False
        whole = everything or self._needs_everything
        self._thread = threading.Thread(target=self._read, args=(whole,), name=f"cell {self._name}", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))
            if self._thread.is_alive():
                self._report("its database has not answered yet")

    def _read(self, everything: bool) -> None:
        self._needs_everything = True
        try:
            if self.database is None:
                self.database = self._open(self.database_url)
            self.database.read(everything=everything)
        except (SQLAlchemyError, databases.DatabaseUnusable) as error:
            self._report(databases.first_line(error))
            return
        except Exception:
            LOG.exception("Failed to read cell %s", self._name)
            return
        self._needs_everything = False
        if self._is_away:
            LOG.info("Cell %s can be read again", self._name)
        self.is_current, self._is_away = True, False

    def _report(self, why: str) -> None:
        (LOG.debug if self._is_away else LOG.warning)("Hosts of cell %s stay unchanged: %s", self._name, why)
        self._is_away = True


class CellReaders:
    """Readers of all cells; ``open_database`` opens the database at a URL or raises DatabaseUnusable."""

    def __init__(self, open_database: OpenDatabase) -> None:
        self._open = open_database
        self._readers: dict[str, CellReader] = {}

    def read(
        self, cells: Mapping[str, CellMapping], clock: Callable[[], float], seconds: float, *, everything: bool
    ) -> None:
        """Read all cells, for at most ``seconds`` by ``clock``; drop the readers of removed cells."""
        for uuid in self._readers.keys() - cells.keys():
            del self._readers[uuid]
        for cell in cells.values():
            reader = self._readers.get(cell.uuid)
            if reader is None or reader.database_url != cell.database_url:
                reader = self._readers[cell.uuid] = CellReader(cell, self._open)
            reader.start(everything=everything)
        deadline = clock() + seconds
        for reader in self._readers.values():
            reader.wait(deadline - clock())

    def current(self, cell: CellMapping) -> CellDatabase | None:
        """Return the cell's database if its last read succeeded, otherwise None."""
        reader = self._readers.get(cell.uuid)
        return reader.database if reader is not None and reader.is_current else None

    def databases(self) -> list[CellDatabase]:
        return [reader.database for reader in self._readers.values() if reader.database is not None]

    def on_hosts(self, instances: Sequence[str]) -> set[str]:
        """Return the instances with a host in any cell. Raises Unanswerable if a cell was not read."""
        unread = [uuid for uuid, reader in self._readers.items() if not reader.is_current]
        if unread or not self._readers:
            raise Unanswerable(f"unread cells: {', '.join(unread) or 'all'}")
        try:
            return set().union(*(database.on_hosts(instances) for database in self.databases()))
        except SQLAlchemyError as error:
            raise Unanswerable(databases.first_line(error)) from error
