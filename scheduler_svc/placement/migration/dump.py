# SPDX-License-Identifier: Apache-2.0
"""Complete contents of a Placement, or of gantt as a Placement: providers, consumers and custom names."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

CUSTOM = "CUSTOM_"  # prefix of names that clients create
UNKNOWN_OWNER = "00000000-0000-0000-0000-000000000000"  # project and user of consumers without an owner


class CustomNameKind(StrEnum):
    """Kind of a custom name; the value is its namespace in gantt's store."""

    TRAIT = "trait"
    RESOURCE_CLASS = "resource_class"


Record = TypeVar("Record", ImportProvider, ConsumerImport)


@dataclass(slots=True)
class PlacementDump:
    """All records of one side, in the form of imports; they name providers by UUID.

    Attributes:
        providers, consumers: Records by UUID.
        names: {(kind, custom name): creation time in ms}.
        notes: Messages about contents that are not copied.
        protected: UUIDs of gantt's records that imports do not replace, because clients wrote them.
        unread: {UUID: reason} of providers that exist but could not be read.
        generation_base: Minimum of all generations.
        time_unit_ms: Resolution of the records' times; 0 if they are unknown.
    """

    providers: dict[str, ImportProvider] = field(default_factory=dict)
    consumers: dict[str, ConsumerImport] = field(default_factory=dict)
    names: dict[tuple[CustomNameKind, str], int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    protected: frozenset[str] = frozenset()
    unread: dict[str, str] = field(default_factory=dict)
    generation_base: int = 0
    time_unit_ms: int = 0

    def with_least_generation(self, base: int) -> "PlacementDump":
        if base == 0:
            return self
        providers, consumers = _raised(self.providers, base), _raised(self.consumers, base)
        number = sum(
            record.generation < base for records in (self.providers, self.consumers) for record in records.values()
        )
        notes = [f"{number} generations below {base}, where the store's epoch began, are raised to it"]
        return replace(
            self,
            providers=providers,
            consumers=consumers,
            notes=self.notes + (notes if number else []),
            generation_base=base,
        )

    def levels(self) -> list[list[ImportProvider]]:
        """Return the providers by depth in their trees: all roots, then their children, and so on."""
        depths: dict[str, int] = {}
        levels: list[list[ImportProvider]] = []
        for uuid in self.providers:
            path: dict[str, None] = {}  # Ordered set: the provider, then its new ancestors, nearest first.
            above: str | None = uuid
            while above is not None and above in self.providers and above not in depths and above not in path:
                path[above] = None
                above = self.providers[above].parent
            for name in reversed(path):
                depths[name] = depths.get(self.providers[name].parent or "", -1) + 1
                if depths[name] == len(levels):
                    levels.append([])
                levels[depths[name]].append(self.providers[name])
        return levels


def common_time_unit(first: PlacementDump, second: PlacementDump) -> int:
    """Return the coarser time unit of both in ms, 0 if one dump has no times."""
    units = first.time_unit_ms, second.time_unit_ms
    return max(units) if all(units) else 0


def are_same(
    first: ImportProvider | ConsumerImport | None, second: ImportProvider | ConsumerImport | None, time_unit_ms: int
) -> bool:
    """Return whether two records are equal, including their times rounded down to ``time_unit_ms`` (0: ignored)."""
    if first is None or second is None or first != second:
        return first is second
    if time_unit_ms == 0:
        return True
    return [time // time_unit_ms for time in times_of(first)] == [time // time_unit_ms for time in times_of(second)]


def times_of(record: ImportProvider | ConsumerImport) -> tuple[int, ...]:
    return (record.created_ms, record.changed_ms) if isinstance(record, ImportProvider) else (record.changed_ms,)


def is_custom(name: str) -> bool:
    """Return whether clients created this trait or resource class; others come with a release."""
    return name.startswith(CUSTOM)


def _raised(records: Mapping[str, Record], base: int) -> dict[str, Record]:
    return {
        uuid: record if record.generation >= base else replace(record, generation=base)
        for uuid, record in records.items()
    }
