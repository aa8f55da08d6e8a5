# SPDX-License-Identifier: Apache-2.0
"""The host table: a worker's own columnar copy of all hosts, which decisions read."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scheduler_svc.reads import NOTHING, Reads, union
from scheduler_svc.store.records import Amounts, Entry, Snapshot
from scheduler_svc.table.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.table.columns import FIRST_ROWS
from scheduler_svc.table.partition import PartitionRows
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.rows import NO_ZONE, HostRows
from scheduler_svc.table.states import Document
from scheduler_svc.table.view import View


class Census(NamedTuple):
    """How many hosts there are, how many may take instances (room aside), and how many wait for their audit."""

    hosts: int
    able: int
    waiting: int


class HostTable(HostRows):
    """The rows of all partitions, filled from their snapshots and logs.

    Values are absolute and carry the log position that they are from, a row (or service host) and a kind of
    value each: applying an entry twice, late, or after a snapshot that holds it already changes nothing. Of documents
    that declared writers put, what is in ``reads`` is kept.
    """

    def __init__(
        self,
        partitions: Sequence[str] = ("default",),
        reads: Reads = NOTHING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(partitions, reads)
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
        """Return the position as of which a provider's sums are known where that is after its partition's, else 0."""
        part = self.partitions[number]
        row = part.rows.get(name)
        since = part.forest.used_at(name) if row is None else int(self._used_at[row])
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
        """Take over a provider's document where it belongs: only roots are hosts. One may become the other."""
        root = name if provider is None else provider.get("root", name)
        row = part.rows.get(name)
        if position < max(part.forest.provider_at(name), 0 if row is None else int(self._provider_at[row])):
            return
        below = provider if root != name else None
        if below is not None or name in part.forest.rows:
            self._set_below(part, name, below, root, position)
        if row is not None or (below is None and (provider is not None or name not in part.forest.rows)):
            self._set_host(part, name, provider if below is None else None, position)

    def _set_below(
        self, part: PartitionRows, name: str, provider: Mapping[str, Any] | None, root: str, position: int
    ) -> None:
        known = name in part.forest.rows
        part.forest.set_provider(name, provider, self._row(part, root) if provider else 0, position)
        part.forest.give_aggregates(name, self.aggregates.of(name))
        if not known and name in part.rows:
            row = part.rows[name]
            used = {each: int(columns.used[row]) for each, columns in self.resources.items()}
            part.forest.set_used(name, used, int(self._used_at[row]))

    def _set_host(self, part: PartitionRows, name: str, provider: Mapping[str, Any] | None, position: int) -> None:
        row = self._row(part, name)
        self._provider_at[row] = position
        self.there[row] = provider is not None
        given = provider or {}
        inventories = given.get("inventories", {})
        for resource_class in inventories.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_inventory(row, inventories.get(resource_class))
        self.traits.give(row, given.get("traits", ()))
        self.states.give_metrics(row, given.get("metrics", {}))
        self.facts.give(row, given.get("facts"))
        self.addresses.give(row, given.get("host_ip"))
        self.kind[row] = self.kinds.setdefault(given.get("kind", "compute"), len(self.kinds))
        self.numa.pop(row, None)
        if given.get("numa"):
            self.numa[row] = given["numa"]
        zone = given.get("availability_zone")
        self.zone[row] = NO_ZONE if zone is None else self.zones.setdefault(zone, len(self.zones))

    def _set_states(
        self, part: PartitionRows, namespace: str, documents: Mapping[str, Document | None], position: int
    ) -> None:
        for name, document in documents.items():
            if part.documents.put(namespace, name, document, position):
                if namespace == AGGREGATE:
                    self._give_members(self.aggregates.put(part.number, name, part.documents.find(AGGREGATE, name)))
                    continue
                for each in self.partitions:
                    for row in each.rows_named(name):
                        self._give_state(namespace, row)

    def _set_used(self, part: PartitionRows, name: str, amounts: Amounts, position: int) -> None:
        if name in part.forest.rows:
            part.forest.set_used(name, amounts, position)
            if name not in part.rows:
                return
        row = self._row(part, name)
        if position < self._used_at[row]:
            return
        self._used_at[row] = position
        for resource_class in amounts.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_used(row, amounts.get(resource_class, 0))
