# SPDX-License-Identifier: Apache-2.0
"""The host table: a worker's own columnar copy of all hosts, which decisions read."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rpcapi.model import names
from scheduler_svc.reads import NOTHING, Reads, union
from scheduler_svc.store.records import Amounts, Entry, Snapshot
from scheduler_svc.table.columns import FIRST_ROWS, Column, IntColumn, Rows, grown
from scheduler_svc.table.partition import PartitionRows
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.services import ServiceColumns
from scheduler_svc.table.states import Document, Documents, StateColumns
from scheduler_svc.table.traits import TraitColumns
from scheduler_svc.table.view import View

NO_ZONE = -1


class Census(NamedTuple):
    """How many hosts there are, how many may take instances (room aside), and how many wait for their audit."""

    hosts: int
    able: int
    waiting: int


class HostTable:
    """One row a root provider of a partition, numbered as they were first heard of; no row is given to another.

    A provider that is gone, or of which only its use is known so far, keeps its row with ``there`` False.
    Values are absolute and carry the log position that they are from, a row (or service host) and a kind of
    value each: applying an entry twice, late, or after a snapshot that holds it already changes nothing.

    Partitions are told apart by their number in the order given. A name may be in two of them for a moment, while a
    host moves, and is then two rows. Of documents that declared writers put, what is in ``reads`` is kept.
    """

    def __init__(
        self,
        partitions: Sequence[str] = ("default",),
        reads: Reads = NOTHING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.reads = reads
        self.names: list[str] = []
        self.zones: dict[str, int] = {}
        self.there: Column = np.zeros(FIRST_ROWS, np.bool_)
        self.zone: IntColumn = np.full(FIRST_ROWS, NO_ZONE, np.int64)
        self.partition: npt.NDArray[np.int16] = np.zeros(FIRST_ROWS, np.int16)
        self.services = ServiceColumns(FIRST_ROWS)
        self.traits = TraitColumns(FIRST_ROWS)
        self.states = StateColumns(FIRST_ROWS, reads)
        self.resources: dict[str, ResourceColumns] = {}
        self.partitions = [
            PartitionRows(name, number, self.services, Documents(reads)) for number, name in enumerate(partitions)
        ]
        self._provider_at: IntColumn = np.zeros(FIRST_ROWS, np.int64)
        self._used_at: IntColumn = np.zeros(FIRST_ROWS, np.int64)
        self._lock = threading.Lock()
        self._clock = clock

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, partition: str = "default", reads: Reads = NOTHING) -> "HostTable":
        """Build the table of the one partition that ``snapshot`` describes."""
        table = cls([partition], reads)
        (part,) = table.partitions
        at = snapshot.position
        part.set_epoch(snapshot.epoch)
        table._grow(max(FIRST_ROWS, len(snapshot.providers)))
        for namespace, documents in snapshot.states.items():
            table._set_states(part, namespace, documents, at)
        for host, service in snapshot.services.items():
            table._set_service(part, host, service, at)
        for host, alive in snapshot.alive.items():
            part.services.set_alive(host, alive, at)
        for host, epoch in snapshot.opened.items():
            part.services.set_opened(host, epoch, at)
        for name, provider in snapshot.providers.items():
            table._set_provider(part, name, provider, at)
        for name, amounts in snapshot.used.items():
            table._set_used(part, name, amounts, at)
        part.position = at
        return table

    @property
    def epoch(self) -> int:
        """The epoch of the only partition; ValueError where there are more."""
        return self._only.epoch

    @property
    def position(self) -> int:
        """The position of the only partition; ValueError where there are more."""
        return self._only.position

    @property
    def rows(self) -> Mapping[str, int]:
        """The rows of the only partition by name; ValueError where there are more."""
        return self._only.rows

    @property
    def hosts(self) -> int:
        """How many rows are hosts now."""
        return int(np.count_nonzero(self.there))

    def census(self, number: int) -> Census:
        """Count the hosts of one partition."""
        there = self.there & (self.partition == number)
        services = self.services
        living = there & services.alive
        able = living & services.enabled & services.opened
        return Census(*(int(np.count_nonzero(each)) for each in (there, able, living & ~services.opened)))

    def homes(self, name: str) -> list[int]:
        """Return the numbers of the partitions in which a node, or a service host with nodes, has this name."""
        return [part.number for part in self.partitions if self.there[part.rows_named(name)].any()]

    def homes_of(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of the partition in which each node of these names is; of several the first."""
        if len(self.partitions) == 1:
            return dict.fromkeys(names, 0)
        return {
            name: part.number
            for name in names
            for part in reversed(self.partitions)
            if name in part.rows and self.there[part.rows[name]]
        }

    @contextlib.contextmanager
    def reading(self) -> Iterator[View]:
        """Give a view that stands still until the block ends: changes wait for it, so keep the block short."""
        with self._lock:
            for part in self.partitions:
                part.services.give_up(self._clock)
            yield View(self)

    def sums_since(self, name: str, number: int = 0) -> int:
        """Return the position as of which a host's sums are known where that is after its partition's, else 0."""
        part = self.partitions[number]
        since = int(self._used_at[part.rows[name]])
        return since if since > part.position else 0

    def keep(self, reads: Reads) -> None:
        """Keep what is in ``reads`` too; it is there when each partition was loaded once more."""
        with self._lock:
            self.reads = union((self.reads, reads))
            self.states.keep(self.reads)
            for part in self.partitions:
                part.documents.keep(self.reads)

    def load(self, snapshot: Snapshot, number: int = 0) -> None:
        """Replace all that is known of one partition. Readers wait only while columns are copied."""
        part = self.partitions[number]
        fresh = HostTable.from_snapshot(snapshot, part.name, self.reads)
        with self._lock:
            self._adopt(part, fresh)

    def apply(self, entry: Entry, number: int = 0) -> None:
        """Take over one entry of a partition's log; raises ValueError for a kind that this version does not know."""
        part = self.partitions[number]
        with self._lock:
            self._apply(part, entry)
            part.position = max(part.position, entry.position)

    def apply_used(self, used: Mapping[str, Amounts], position: int, number: int = 0) -> None:
        """Take over sums that a claim answered, before the log brings them; the partition's position stays."""
        with self._lock:
            for name, amounts in used.items():
                self._set_used(self.partitions[number], name, amounts, position)

    @property
    def _only(self) -> PartitionRows:
        (part,) = self.partitions
        return part

    def _apply(self, part: PartitionRows, entry: Entry) -> None:
        if entry.kind == "epoch":
            part.set_epoch(entry.payload)
            return
        setters: Mapping[str, Callable[[PartitionRows, str, Any, int], None]] = {
            "provider": self._set_provider,
            "gone": self._set_provider,
            "used": self._set_used,
            "service": self._set_service,
            "state": self._set_states,
            "alive": lambda part, *given: part.services.set_alive(*given),
            "opened": lambda part, *given: part.services.set_opened(*given),
        }
        if entry.kind not in setters:
            raise ValueError(
                f"The log holds an entry of unknown kind {entry.kind!r} at {entry.position}: upgrade this worker"
            )
        payload = dict.fromkeys(entry.payload) if entry.kind == "gone" else entry.payload
        for name, value in payload.items():
            setters[entry.kind](part, name, value, entry.position)

    @staticmethod
    def _set_service(part: PartitionRows, host: str, service: Mapping[str, Any] | None, position: int) -> None:
        if service is None:
            part.services.set_left(host, position)
        else:
            part.services.set_enabled(host, service["enabled"], position)

    def _set_provider(self, part: PartitionRows, name: str, provider: Mapping[str, Any] | None, position: int) -> None:
        row = self._row(part, name)
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
        self.states.give_metrics(row, given.get("metrics", {}))
        zone = given.get("availability_zone")
        self.zone[row] = NO_ZONE if zone is None else self.zones.setdefault(zone, len(self.zones))

    def _set_states(
        self, part: PartitionRows, namespace: str, documents: Mapping[str, Document | None], position: int
    ) -> None:
        for name, document in documents.items():
            if part.documents.put(namespace, name, document, position):
                for row in part.rows_named(name):
                    self._give_state(part, namespace, row)

    def _give_state(self, part: PartitionRows, namespace: str, row: int) -> None:
        self.states.give(row, namespace, part.documents.applying(namespace, self.names[row]))

    def _set_used(self, part: PartitionRows, name: str, amounts: Amounts, position: int) -> None:
        row = self._row(part, name)
        if position < self._used_at[row]:
            return
        self._used_at[row] = position
        for resource_class in amounts.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_used(row, amounts.get(resource_class, 0))

    def _adopt(self, part: PartitionRows, fresh: "HostTable") -> None:
        """Replace one partition's rows by those of a table that holds nothing else; ``fresh`` is used up."""
        (told,) = fresh.partitions
        lost = {name: row for name, row in part.rows.items() if name not in told.rows}
        numbers = [self._number(part, name) for name in fresh.names]
        rows = np.array(numbers, np.intp)
        self._clear(np.array(list(lost.values()), np.intp))
        zones = [self.zones.setdefault(zone, len(self.zones)) for zone in fresh.zones]
        self.zone[rows] = np.array([*zones, NO_ZONE], np.int64)[fresh.zone[: len(rows)]]  # NO_ZONE, -1, is the last
        for mine, its in zip(self._stamped, fresh._stamped, strict=True):
            mine[rows] = its[: len(rows)]
        self.traits.adopt(rows, fresh.traits)
        self.states.adopt(rows, fresh.states)
        for resource_class in fresh.resources.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            if resource_class in fresh.resources:
                columns.adopt(rows, fresh.resources[resource_class])
            else:
                columns.clear(rows)
        self.services.adopt(rows, fresh.services)
        part.services.adopt(numbers, told.services)
        part.documents = told.documents
        part.documents.keep(self.reads)
        for name, row in lost.items():
            self._place(part, row, name)
        part.epoch, part.position = told.epoch, told.position

    def _clear(self, rows: Rows) -> None:
        """Let ``rows`` be no hosts, as if nothing had been heard of them but their names."""
        for column in self._stamped:
            column[rows] = 0
        self.services.clear(rows)
        self.traits.clear(rows)
        self.states.clear(rows)
        for columns in self.resources.values():
            columns.clear(rows)

    @property
    def _stamped(self) -> tuple[npt.NDArray[Any], ...]:
        """Columns of which a new row has 0."""
        return self.there, self._provider_at, self._used_at

    def _row(self, part: PartitionRows, name: str) -> int:
        row = part.rows.get(name)
        if row is None:
            row = self._number(part, name)
            self._place(part, row, name)
        return row

    def _place(self, part: PartitionRows, row: int, name: str) -> None:
        """Give a row what is known of its service host, and of its name, already."""
        part.services.place(row, names.host_of(name))
        for namespace in part.documents.namespaces:
            self._give_state(part, namespace, row)

    def _number(self, part: PartitionRows, name: str) -> int:
        """Return the row of a name; a new one is given a row that is no service host's yet."""
        row = part.rows.setdefault(name, len(self.names))
        if row == len(self.names):
            if row == len(self.there):
                self._grow(2 * row)
            self.names.append(name)
            self.partition[row] = part.number
        return row

    def _grow(self, size: int) -> None:
        self.there = grown(self.there, size)
        self.zone = grown(self.zone, size, NO_ZONE)
        self.partition = grown(self.partition, size)
        self._provider_at = grown(self._provider_at, size)
        self._used_at = grown(self._used_at, size)
        self.services.grow(size)
        self.traits.grow(size)
        self.states.grow(size)
        for columns in self.resources.values():
            columns.grow(size)
