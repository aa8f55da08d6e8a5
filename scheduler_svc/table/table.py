# SPDX-License-Identifier: Apache-2.0
"""The host table: a worker's own columnar copy of all hosts, which decisions read."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rpcapi.model import names
from scheduler_svc.store.records import Amounts, Entry, Snapshot
from scheduler_svc.table.columns import FIRST_ROWS, Column, IntColumn, grown
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.services import ServiceColumns
from scheduler_svc.table.traits import TraitColumns
from scheduler_svc.table.view import View

NO_ZONE = -1


class HostTable:
    """One row a root provider, numbered in the order they were first heard of; a row is never given to another.

    A provider that is gone, or of which only its use is known so far, keeps its row with ``there`` False.
    Values are absolute and carry the log position that they are from, a row (or service host) and a kind of
    value each: applying an entry twice, late, or after a snapshot that holds it already changes nothing.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.position = 0
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.zones: dict[str, int] = {}
        self.there: Column = np.zeros(FIRST_ROWS, np.bool_)
        self.zone: IntColumn = np.full(FIRST_ROWS, NO_ZONE, np.int64)
        self.services = ServiceColumns(FIRST_ROWS)
        self.traits = TraitColumns(FIRST_ROWS)
        self.resources: dict[str, ResourceColumns] = {}
        self._provider_at: IntColumn = np.zeros(FIRST_ROWS, np.int64)
        self._used_at: IntColumn = np.zeros(FIRST_ROWS, np.int64)
        self._lock = threading.Lock()

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> "HostTable":
        """Build the table that ``snapshot`` describes."""
        table = cls()
        at = snapshot.position
        table._set_epoch(snapshot.epoch)
        table._grow(max(FIRST_ROWS, len(snapshot.providers)))
        for host, service in snapshot.services.items():
            table._set_service(host, service, at)
        for host, alive in snapshot.alive.items():
            table.services.set_alive(host, alive, at)
        for host, epoch in snapshot.opened.items():
            table.services.set_opened(host, epoch, at)
        for name, provider in snapshot.providers.items():
            table._set_provider(name, provider, at)
        for name, amounts in snapshot.used.items():
            table._set_used(name, amounts, at)
        table.position = at
        return table

    @property
    def hosts(self) -> int:
        """How many rows are hosts now."""
        return int(np.count_nonzero(self.there))

    @property
    def waiting_for_audit(self) -> int:
        """How many hosts live but take nothing, because they were not audited in this epoch."""
        return int(np.count_nonzero(self.there & self.services.alive & ~self.services.opened))

    def knows(self, wanted: str) -> bool:
        """Tell whether a canonical name is a host's here, or a service host's that has some."""
        row = self.rows.get(wanted)
        rows = self.services.rows_of(wanted) if row is None else [*self.services.rows_of(wanted), row]
        return bool(self.there[rows].any())

    @contextlib.contextmanager
    def reading(self) -> Iterator[View]:
        """Give a view that stands still until the block ends: changes wait for it, so keep the block short."""
        with self._lock:
            yield View(self)

    def apply(self, entry: Entry) -> None:
        """Take over one log entry; raises ValueError for a kind that this version does not know."""
        with self._lock:
            self._apply(entry)
            self.position = max(self.position, entry.position)

    def apply_used(self, used: Mapping[str, Amounts], position: int) -> None:
        """Take over sums that a claim answered, before the log brings them; the table's position stays."""
        with self._lock:
            for name, amounts in used.items():
                self._set_used(name, amounts, position)

    def _apply(self, entry: Entry) -> None:
        if entry.kind == "epoch":
            self._set_epoch(entry.payload)
            return
        setters: Mapping[str, Callable[[str, Any, int], None]] = {
            "provider": self._set_provider,
            "gone": self._set_provider,
            "used": self._set_used,
            "service": self._set_service,
            "alive": self.services.set_alive,
            "opened": self.services.set_opened,
        }
        if entry.kind not in setters:
            raise ValueError(
                f"The log holds an entry of unknown kind {entry.kind!r} at {entry.position}: upgrade this worker"
            )
        payload = dict.fromkeys(entry.payload) if entry.kind == "gone" else entry.payload
        for name, value in payload.items():
            setters[entry.kind](name, value, entry.position)

    def _set_epoch(self, epoch: int) -> None:
        if epoch > self.epoch:
            self.epoch = epoch
            self.services.set_epoch(epoch)

    def _set_service(self, host: str, service: Mapping[str, Any], position: int) -> None:
        self.services.set_enabled(host, service["enabled"], position)

    def _set_provider(self, name: str, provider: Mapping[str, Any] | None, position: int) -> None:
        row = self._row(name)
        if position < self._provider_at[row]:
            return
        self._provider_at[row] = position
        # Only roots are hosts; what hangs below one is claimed through its root's candidates.
        self.there[row] = provider is not None and provider.get("root", name) == name
        given = provider or {}
        inventories = given.get("inventories", {})
        for resource_class in inventories.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_inventory(row, inventories.get(resource_class))
        self.traits.give(row, given.get("traits", ()))
        zone = given.get("availability_zone")
        self.zone[row] = NO_ZONE if zone is None else self.zones.setdefault(zone, len(self.zones))

    def _set_used(self, name: str, amounts: Amounts, position: int) -> None:
        row = self._row(name)
        if position < self._used_at[row]:
            return
        self._used_at[row] = position
        for resource_class in amounts.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_used(row, amounts.get(resource_class, 0))

    def _row(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            row = len(self.names)
            if row == len(self.there):
                self._grow(2 * row)
            self.names.append(name)
            self.rows[name] = row
            self.services.place(row, names.host_of(name))
        return row

    def _grow(self, size: int) -> None:
        self.there = grown(self.there, size)
        self.zone = grown(self.zone, size, NO_ZONE)
        self._provider_at = grown(self._provider_at, size)
        self._used_at = grown(self._used_at, size)
        self.services.grow(size)
        self.traits.grow(size)
        for columns in self.resources.values():
            columns.grow(size)
