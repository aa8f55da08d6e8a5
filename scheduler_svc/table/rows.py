# SPDX-License-Identifier: Apache-2.0
"""The rows of the host table: which there are, whose they are, and all their columns."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rpcapi.model import names
from scheduler_svc.reads import Reads
from scheduler_svc.table.addresses import AddressColumn
from scheduler_svc.table.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.table.aggregates import Aggregates
from scheduler_svc.table.columns import FIRST_ROWS, Column, IntColumn, Rows, grown
from scheduler_svc.table.facts import FactColumn
from scheduler_svc.table.partition import PartitionRows
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.services import ServiceColumns
from scheduler_svc.table.states import Document, Documents, StateColumns
from scheduler_svc.table.traits import TraitColumns

NO_ZONE = -1
COMPUTE = 0  # the number of kind "compute"


class HostRows:
    """One row a root provider of a partition, numbered as they were first heard of; no row is given to another.

    A provider that is gone, or of which only its use is known so far, keeps its row with ``there`` False.
    Partitions are told apart by their number in the order given. A name may be in two of them for a moment, while a
    host moves, and is then two rows.
    """

    def __init__(self, partitions: Sequence[str], reads: Reads) -> None:
        self.reads = reads
        self.names: list[str] = []
        self.zones: dict[str, int] = {}
        self.there: Column = np.zeros(FIRST_ROWS, np.bool_)
        self.zone: IntColumn = np.full(FIRST_ROWS, NO_ZONE, np.int64)
        self.kinds: dict[str, int] = {"compute": COMPUTE}
        self.kind: npt.NDArray[np.int8] = np.full(FIRST_ROWS, COMPUTE, np.int8)
        self.partition: npt.NDArray[np.int16] = np.zeros(FIRST_ROWS, np.int16)
        self.facts = FactColumn(FIRST_ROWS)
        self.addresses = AddressColumn(FIRST_ROWS)
        self.numa: dict[int, Sequence[Any]] = {}  # states of the cells of those rows that have some
        self.aggregates = Aggregates(FIRST_ROWS)
        self.services = ServiceColumns(FIRST_ROWS)
        self.traits = TraitColumns(FIRST_ROWS)
        self.states = StateColumns(FIRST_ROWS, reads)
        self.resources: dict[str, ResourceColumns] = {}
        self.partitions = [
            PartitionRows(name, number, self.services, Documents(reads)) for number, name in enumerate(partitions)
        ]
        self._provider_at: IntColumn = np.zeros(FIRST_ROWS, np.int64)
        self._used_at: IntColumn = np.zeros(FIRST_ROWS, np.int64)

    def _give_state(self, namespace: str, row: int) -> None:
        self.states.give(row, namespace, self._applying(namespace, row))

    def _applying(self, namespace: str, row: int) -> Document | None:
        """Return what holds for a node: the document of its own name, else that of its service host.

        It may be in another partition than the node: documents stay where they are when hosts move, and may be there
        before their host is. The node's own partition comes first.
        """
        home = self.partitions[self.partition[row]]
        for name in (self.names[row], names.host_of(self.names[row])):
            for part in (home, *self._others(home)):
                held = part.documents.find(namespace, name)
                if held is not None:
                    return held
        return None

    def _give_aggregates(self, row: int) -> None:
        name = self.names[row]
        self.aggregates.give(row, self.aggregates.of(name, names.host_of(name)))

    def _give_members(self, concerned: Iterable[str]) -> None:
        """Give the rows of these names their aggregates anew."""
        for name in concerned:
            for part in self.partitions:
                for row in part.rows_named(name):
                    self._give_aggregates(row)
                part.forest.give_aggregates(name, self.aggregates.of(name))

    def _others(self, part: PartitionRows) -> list[PartitionRows]:
        return [each for each in self.partitions if each is not part]

    def _give_named(self, part: PartitionRows, documents: Documents) -> None:
        """Give the rows of a partition anew what is said of them where ``documents`` name them."""
        for namespace in documents.namespaces:
            for name in documents.of(namespace):
                for row in part.rows_named(name):
                    self._give_state(namespace, row)

    def _adopt(self, part: PartitionRows, fresh: "HostRows") -> None:
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
        self.facts.adopt(rows, fresh.facts)
        self.addresses.adopt(rows, fresh.addresses)
        kinds = [self.kinds.setdefault(kind, len(self.kinds)) for kind in fresh.kinds]
        self.kind[rows] = np.array(kinds, np.int8)[fresh.kind[: len(rows)]]
        for row in numbers:
            self.numa.pop(row, None)
        self.numa |= {numbers[row]: cells for row, cells in fresh.numa.items()}
        for resource_class in fresh.resources.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            if resource_class in fresh.resources:
                columns.adopt(rows, fresh.resources[resource_class])
            else:
                columns.clear(rows)
        self.services.adopt(rows, fresh.services)
        part.services.adopt(numbers, told.services)
        part.forest = told.forest
        part.forest.move(numbers)
        former, part.documents = part.documents, told.documents
        part.documents.keep(self.reads)
        for other in self._others(part):
            self._give_named(part, other.documents)
            self._give_named(other, former)
            self._give_named(other, part.documents)
        for name, row in lost.items():
            self._place(part, row, name)
        self._adopt_aggregates(part, rows)
        part.epoch, part.position = told.epoch, told.position

    def _adopt_aggregates(self, part: PartitionRows, rows: Rows) -> None:
        if AGGREGATE in part.documents.namespaces:
            self._give_members(self.aggregates.replace(part.number, part.documents.of(AGGREGATE)))
        for row in rows.tolist():
            self._give_aggregates(row)
        for name in part.forest.names:
            part.forest.give_aggregates(name, self.aggregates.of(name))

    def _clear(self, rows: Rows) -> None:
        """Let ``rows`` be no hosts, as if nothing had been heard of them but their names."""
        for column in self._stamped:
            column[rows] = 0
        self.services.clear(rows)
        self.traits.clear(rows)
        self.states.clear(rows)
        self.facts.clear(rows)
        self.addresses.clear(rows)
        self.kind[rows] = COMPUTE
        for row in rows.tolist():
            self.numa.pop(row, None)
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
            self._give_state(namespace, row)
        self._give_aggregates(row)
        if name in part.forest.rows:
            self._used_at[row] = part.forest.used_at(name)
            for resource_class, amount in part.forest.used(name).items():
                self._columns(resource_class).set_used(row, amount)

    def _columns(self, resource_class: str) -> ResourceColumns:
        """Return the columns of a class, which nobody may have had before."""
        if resource_class not in self.resources:
            self.resources[resource_class] = ResourceColumns(len(self.there))
        return self.resources[resource_class]

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
        self.kind = grown(self.kind, size, COMPUTE)
        self.facts.grow(size)
        self.addresses.grow(size)
        self.aggregates.grow(size)
        self._provider_at = grown(self._provider_at, size)
        self._used_at = grown(self._used_at, size)
        self.services.grow(size)
        self.traits.grow(size)
        self.states.grow(size)
        for columns in self.resources.values():
            columns.grow(size)
