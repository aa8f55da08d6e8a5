# SPDX-License-Identifier: Apache-2.0
"""Complete contents of a Placement, or of gantt as one: providers, consumers and custom names."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from rpcapi.resources.inventory import Inventory

CUSTOM = "CUSTOM_"  # prefix of client-created names
UNKNOWN_OWNER = "00000000-0000-0000-0000-000000000000"  # project and user of consumers without an owner


class CustomNameKind(StrEnum):
    """Kind of custom names, valued as the namespace in gantt's store."""

    TRAIT = "trait"
    RESOURCE_CLASS = "resource_class"


@dataclass(frozen=True, slots=True)
class ProviderRecord:
    """Resource provider; ``parent`` is a UUID. Times in ms are compared by ``are_same`` only."""

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
        return self.created_ms, self.changed_ms


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """Consumer with its allocations, {provider UUID: {class: amount}}. ``type`` "" means none."""

    uuid: str
    project: str
    user: str
    type: str
    generation: int
    allocations: Mapping[str, Mapping[str, int]]
    changed_ms: int = field(default=0, compare=False)

    @property
    def times(self) -> tuple[int, ...]:
        return (self.changed_ms,)


Record = TypeVar("Record", ProviderRecord, ConsumerRecord)


@dataclass(slots=True)
class PlacementDump:
    """All records of one side.

    Attributes:
        providers, consumers: Records by UUID.
        names: Creation times of custom names in ms, by kind and name.
        notes: Contents that are not carried over.
        protected: UUIDs of gantt's records that imports do not replace, because clients wrote them.
        unread: Why providers could not be read, by UUID. They exist with unknown contents.
        generation_base: No generation is lower.
        time_unit_ms: Resolution of the records' times; 0 if they are unknown.
    """

    providers: dict[str, ProviderRecord] = field(default_factory=dict)
    consumers: dict[str, ConsumerRecord] = field(default_factory=dict)
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

    def levels(self) -> list[list[ProviderRecord]]:
        """Return the providers by depth in their trees, roots first."""
        depths: dict[str, int] = {}
        levels: list[list[ProviderRecord]] = []
        for uuid in self.providers:
            path: dict[str, None] = {}  # from the provider upwards
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
    """Return the coarser time unit in ms of both; 0 if one has no times."""
    units = first.time_unit_ms, second.time_unit_ms
    return max(units) if all(units) else 0


def are_same(
    first: ProviderRecord | ConsumerRecord | None, second: ProviderRecord | ConsumerRecord | None, time_unit_ms: int
) -> bool:
    """Return whether two records are equal, including their times in this unit unless it is 0."""
    if first is None or second is None or first != second:
        return first is second
    if time_unit_ms == 0:
        return True
    return [time // time_unit_ms for time in first.times] == [time // time_unit_ms for time in second.times]


def is_custom(name: str) -> bool:
    """Return whether clients create such a trait or resource class; others come with a release."""
    return name.startswith(CUSTOM)


def _raised(records: Mapping[str, Record], base: int) -> dict[str, Record]:
    return {
        uuid: record if record.generation >= base else replace(record, generation=base)
        for uuid, record in records.items()
    }
