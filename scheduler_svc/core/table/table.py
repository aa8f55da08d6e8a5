# SPDX-License-Identifier: Apache-2.0
"""Host table: a scheduler worker's columnar copy of all hosts."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rpcapi.resources import names
from rpcapi.version import is_too_old
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.reads import NO_READS, Reads, union
from scheduler_svc.core.records import Allocations, Amounts, LogEntry, Snapshot
from scheduler_svc.core.table.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.core.table.columns import FIRST_ROWS
from scheduler_svc.core.table.partition import Document, PartitionRows
from scheduler_svc.core.table.providers import PartitionProviders
from scheduler_svc.core.table.rows import NO_ZONE, HostRows
from scheduler_svc.core.table.view import View


class HostCounts(NamedTuple):
    """Number of schedulable hosts, full or not, and of unschedulable hosts by reason."""

    schedulable: int
    disabled: int
    awaiting_audit: int
    down: int
    too_old: int
    set_aside: int

    @property
    def hosts(self) -> int:
        return sum(self)


class HostTable(HostRows):
    """Rows of all partitions. Values are absolute and have log positions: repeated or late entries change nothing."""

    def __init__(
        self,
        partitions: Sequence[str] = ("default",),
        reads: Reads = NO_READS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(partitions, union([reads]), clock)
        self._lock = threading.RLock()

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, partition: str = "default", reads: Reads = NO_READS) -> "HostTable":
        table = cls([partition], reads)
        (part,) = table.partitions
        part.set_epoch(snapshot.epoch)
        table.grow(max(FIRST_ROWS, len(snapshot.providers)))
        payloads = {
            "state": snapshot.states,
            "service": snapshot.services,
            "alive": snapshot.alive,
            "opened": snapshot.opened,
            "provider": snapshot.providers,
            "used": snapshot.used,
        }
        for kind, payload in payloads.items():
            table._apply(part, LogEntry(snapshot.position, kind, payload))
        part.position = snapshot.position
        return table

    @property
    def hosts(self) -> int:
        return int(np.count_nonzero(self.present))

    def provider_ids(self, number: int = 0) -> list[str]:
        part = self.partitions[number]
        with self._lock:
            below = part.forest
            return [
                *(name for name, row in part.rows.items() if self.present[row]),
                *(name for name, row in below.rows.items() if below.present[row]),
            ]

    def host_counts(self, number: int) -> HostCounts:
        present = self.present & (self.partition == number)
        services = self.services
        alive = present & services.alive
        set_aside = np.zeros(len(present), np.bool_)
        set_aside[list(self.rows_set_aside)] = True
        current = alive & ~services.too_old & ~set_aside
        audited = current & services.opened
        masks = (
            audited & services.enabled,
            audited & ~services.enabled,
            current & ~services.opened,
            present & ~alive,
            alive & services.too_old,
            alive & ~services.too_old & set_aside,
        )
        return HostCounts(*(int(np.count_nonzero(mask)) for mask in masks))

    def audited_hosts(self, number: int) -> list[str]:
        """Return a partition's service hosts that may run claims, as of the applied log."""
        with self._lock:
            return self.partitions[number].services.audited_hosts()

    def find_partitions(self, name: str) -> list[int]:
        """Return the numbers of the partitions that have this node, or nodes of this service host."""
        numbers = {part.number for part in self.partitions if self.present[part.find_rows(name)].any()}
        compute_nodes = self.states.match_compute_node(name)
        if compute_nodes is not None:
            numbers |= {int(number) for number in self.partition[compute_nodes & self.present]}
        return sorted(numbers)

    def spellings(self, name: str) -> list[str]:
        """Return ``name`` in each existing spelling, because Nova ignores case; [name] if exact or unknown."""
        if self.find_partitions(name):
            return [name]
        host, separator, node = name.partition(names.SEPARATOR)
        hosts = {host.lower()}.union(*(part.capitals.get(host.lower(), ()) for part in self.partitions))
        others = (f"{other}{separator}{node}" for other in sorted(hosts))
        return [other for other in others if self.find_partitions(other)] or [name]

    @contextlib.contextmanager
    def reading(self) -> Iterator[View]:
        """Context manager that yields a View. Changes wait until the block ends, so keep it short."""
        with self._lock:
            for part in self.partitions:
                part.services.expire_waits()
            yield View(self)

    @contextlib.contextmanager
    def planning(self, number: int = 0) -> Iterator[Callable[[str, Allocations], None]]:
        """Yield ``take(host, allocations)``, which plans a claim until the block ends. Locks like ``reading``.

        A planned claim uses capacity of root providers and counts as a claim.
        """
        former: dict[tuple[str, int], int] = {}
        nodes: list[int] = []
        with self._lock:
            rows, claims = self.partitions[number].rows, self.resources.counts.claims

            def take(host: str, allocations: Allocations) -> None:
                for name, amounts in allocations.items():
                    for resource_class in amounts.keys() & self.resources.keys() if name in rows else ():
                        columns, row = self.resources[resource_class], rows[name]
                        used = int(columns.used[row])
                        former.setdefault((resource_class, row), used)
                        columns.set_used(row, used + amounts[resource_class])
                if host in rows:
                    nodes.append(rows[host])
                    claims[rows[host]] += 1

            try:
                yield take
            finally:
                for (resource_class, row), used in former.items():
                    self.resources[resource_class].set_used(row, used)
                for row in nodes:
                    claims[row] -= 1

    @contextlib.contextmanager
    def reading_providers(self, number: int = 0) -> Iterator[PartitionProviders]:
        """Context manager like ``reading`` that yields all providers of a partition."""
        with self.reading() as view:
            yield PartitionProviders(self, view.trees, number)

    def add_reads(self, reads: Reads) -> None:
        """Store more keys. Their columns are complete once every partition has been reloaded."""
        with self._lock:
            self.reads = union((self.reads, reads))
            self.states.add_reads(self.reads)
            for part in self.partitions:
                part.documents.add_reads(self.reads)

    def load(self, snapshot: Snapshot, number: int = 0) -> None:
        """Replace a partition by a snapshot. Readers wait only while columns are copied."""
        part = self.partitions[number]
        source = HostTable.from_snapshot(snapshot, part.name, self.reads)
        with self._lock:
            self._replace_partition(part, source)

    def apply(self, entry: LogEntry, number: int = 0) -> bool:
        """Apply a log entry. Return whether ``apply_used`` already had. Raises ValueError for an unknown kind."""
        part = self.partitions[number]
        with self._lock:
            was_applied = entry.kind == "used" and all(
                self._used_position(part, name) >= entry.position for name in entry.payload
            )
            self._apply(part, entry)
            part.position = max(part.position, entry.position)
            return was_applied

    def apply_used(self, used: Mapping[str, Amounts], position: int, number: int = 0) -> None:
        """Apply usage from a claim's answer, ahead of its log entry. The partition's log position stays."""
        with self._lock:
            for name, amounts in used.items():
                self._set_used(self.partitions[number], name, amounts, position)

    def _apply(self, part: PartitionRows, entry: LogEntry) -> None:
        if entry.kind == "epoch":
            part.set_epoch(entry.payload)
            return
        setters: Mapping[str, Callable[[PartitionRows, str, Any, int], None]] = {
            "provider": self._set_provider,
            "gone": self._set_provider,
            "used": self._set_used,
            "service": self._set_service,
            "state": self._set_states,
            "alive": lambda part, *args: part.services.set_alive(*args),
            "opened": lambda part, *args: part.services.set_opened(*args),
        }
        if entry.kind not in setters:
            raise ValueError(
                f"log entry of unknown kind {entry.kind!r} at position {entry.position}: upgrade this worker"
            )
        part.departures += _departures(entry)
        payload = dict.fromkeys(entry.payload) if entry.kind == "gone" else entry.payload
        for name, value in payload.items():
            setters[entry.kind](part, name, value, entry.position)

    @staticmethod
    def _set_service(part: PartitionRows, host: str, service: Mapping[str, Any] | None, position: int) -> None:
        if service is None:
            part.services.set_deleted(host, position)
        else:
            # No claims if two agents share the host, since either may get the build, or if its agent refuses guests.
            takes_claims = service["enabled"] and service.keys().isdisjoint(("duplicate_ms", "refusal"))
            part.services.set_enabled(host, takes_claims, position, too_old=is_too_old(service.get("rpc_versions")))

    def _set_provider(self, part: PartitionRows, name: str, provider: Mapping[str, Any] | None, position: int) -> None:
        """Set a provider's document, in a host row if root, else in the forest. A root may become a child."""
        root = name if provider is None else provider.get("root", name)
        row = part.rows.get(name)
        if position < max(
            part.forest.provider_position(name), 0 if row is None else int(self._provider_positions[row])
        ):
            return
        has_new_aggregates = self.aggregates.set_own(part.number, name, (provider or {}).get("aggregates", ()))
        child = provider if root != name else None
        if child is not None or name in part.forest.rows:
            self._set_child(part, name, child, root, position)
        if row is not None or (child is None and (provider is not None or name not in part.forest.rows)):
            self._set_host(part, name, provider if child is None else None, position)
            if has_new_aggregates:
                self._apply_aggregates(part.rows[name])

    def _set_child(
        self, part: PartitionRows, name: str, provider: Mapping[str, Any] | None, root: str, position: int
    ) -> None:
        exists = name in part.forest.rows
        part.forest.set_provider(name, provider, self._row(part, root) if provider else 0, position)
        self.aggregates.drop_answers()
        self._apply_child_aggregates(part, name)
        if not exists and name in part.rows:
            row = part.rows[name]
            part.forest.set_used(name, self.resources.used(row), int(self._used_positions[row]))

    def _set_host(self, part: PartitionRows, name: str, provider: Mapping[str, Any] | None, position: int) -> None:
        row = self._row(part, name)
        self.present[row] = provider is not None
        document = provider or {}
        before = self._features(row)
        self._set_document(row, document, position)
        if self._features(row) != before:  # reports of metrics and facts are more frequent
            self.aggregates.drop_answers()
        self.kind[row] = self.kinds.setdefault(document.get("kind", "compute"), len(self.kinds))
        if not names.is_api_provider(name):
            self._apply_host_keys(row, document)
        elif compute_node.NAMESPACE in self.reads:
            self._apply_compute_node(row, self._find_document(compute_node.NAMESPACE, row))
        zone = document.get("availability_zone")
        self.zone[row] = NO_ZONE if zone is None else self.zones.setdefault(zone, len(self.zones))

    def _set_states(
        self, part: PartitionRows, namespace: str, documents: Mapping[str, Document | None], position: int
    ) -> None:
        for name, document in documents.items():
            if part.documents.put(namespace, name, document, position):
                if namespace == AGGREGATE:
                    self._apply_members(self.aggregates.put(part.number, name, part.documents.find(AGGREGATE, name)))
                    continue
                for other in self.partitions:
                    for row in other.find_rows(name):
                        self._apply_state(namespace, row)

    def _set_used(self, part: PartitionRows, name: str, amounts: Amounts, position: int) -> None:
        if name in part.forest.rows:
            part.forest.set_used(name, amounts, position)
            if name not in part.rows:
                return
        self.set_row_used(self._row(part, name), amounts, position)


def _departures(entry: LogEntry) -> int:
    match entry.kind:
        case "gone":
            return len(entry.payload)
        case "service":
            return sum(service is None for service in entry.payload.values())
        case "state":
            return sum(document is None for documents in entry.payload.values() for document in documents.values())
        case _:
            return 0
