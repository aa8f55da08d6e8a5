# SPDX-License-Identifier: Apache-2.0
"""All that a Placement has, or gantt in its place: providers, consumers and custom names."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from rpcapi.resources.inventory import Inventory

CUSTOM = "CUSTOM_"  # how the names begin that clients create
UNKNOWN_OWNER = "00000000-0000-0000-0000-000000000000"  # project and user of consumers that were never given any


class NameKind(StrEnum):
    """Custom names, by the namespace of gantt's store that has them."""

    TRAIT = "trait"
    RESOURCE_CLASS = "resource_class"


@dataclass(frozen=True, slots=True)
class ProviderRecord:
    """A resource provider; ``parent`` is a UUID. Times are in ms, and compared by ``are_same``."""

    uuid: str
    name: str
    parent: str | None
    generation: int
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    aggregates: frozenset[str]
    created_ms: int = field(default=0, compare=False)
    changed_ms: int = field(default=0, compare=False)

    @property
    def times(self) -> tuple[int, ...]:
        """All times in ms."""
        return self.created_ms, self.changed_ms


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A consumer and what it holds: amounts by resource class by UUID of the provider. ``type`` "" is none."""

    uuid: str
    project: str
    user: str
    type: str
    generation: int
    allocations: Mapping[str, Mapping[str, int]]
    changed_ms: int = field(default=0, compare=False)

    @property
    def times(self) -> tuple[int, ...]:
        """All times in ms."""
        return (self.changed_ms,)


Record = TypeVar("Record", ProviderRecord, ConsumerRecord)


@dataclass(slots=True)
class Contents:
    """All records, by UUID, and the times in ms at which custom names were created, by kind and name.

    ``notes`` say what there is besides, that is not carried. ``protected`` are UUIDs of records of gantt that imports
    do not replace, because its clients wrote them. ``unread`` says of providers why they could not be read: what they
    are is unknown, but not that they are. No generation is less than ``generation_base``. Times of records are
    known in units of ``time_unit_ms``; 0: they are not known.
    """

    providers: dict[str, ProviderRecord] = field(default_factory=dict)
    consumers: dict[str, ConsumerRecord] = field(default_factory=dict)
    names: dict[tuple[NameKind, str], int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    protected: frozenset[str] = frozenset()
    unread: dict[str, str] = field(default_factory=dict)
    generation_base: int = 0
    time_unit_ms: int = 0

    def with_least_generation(self, base: int) -> "Contents":
        """Return the contents with all generations that are less than ``base`` raised to it."""
        if base == 0:
            return self
        providers, consumers = _raised(self.providers, base), _raised(self.consumers, base)
        number = sum(
            record.generation < base for records in (self.providers, self.consumers) for record in records.values()
        )
        notes = [f"{number} generations below {base}, with which the epoch of the store began, are raised to it"]
        return replace(
            self,
            providers=providers,
            consumers=consumers,
            notes=self.notes + (notes if number else []),
            generation_base=base,
        )

    def levels(self) -> list[list[ProviderRecord]]:
        """Return the providers by level of their trees, the roots first."""
        depths: dict[str, int] = {}
        levels: list[list[ProviderRecord]] = []
        for uuid in self.providers:
            path: dict[str, None] = {}  # in the order from the provider up
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


def common_time_unit(first: Contents, second: Contents) -> int:
    """Return the unit in ms in which both know times, 0 if one of them does not."""
    units = first.time_unit_ms, second.time_unit_ms
    return max(units) if all(units) else 0


def are_same(
    first: ProviderRecord | ConsumerRecord | None, second: ProviderRecord | ConsumerRecord | None, time_unit_ms: int
) -> bool:
    """Return whether two records are equal, with their times in such units unless it is 0."""
    if first is None or second is None or first != second:
        return first is second
    return time_unit_ms == 0 or times_in(first, time_unit_ms) == times_in(second, time_unit_ms)


def times_in(record: ProviderRecord | ConsumerRecord, unit_ms: int) -> list[int]:
    """Return all times of a record in whole units."""
    return [time_ms // unit_ms for time_ms in record.times]


def is_custom(name: str) -> bool:
    """Return whether clients create such a trait or resource class; the others come with a release."""
    return name.startswith(CUSTOM)


def _raised(records: Mapping[str, Record], base: int) -> dict[str, Record]:
    return {
        uuid: record if record.generation >= base else replace(record, generation=base)
        for uuid, record in records.items()
    }
