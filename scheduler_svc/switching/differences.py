# SPDX-License-Identifier: Apache-2.0
"""Comparison of what the other Placement has with what gantt has, and the excess that is carried."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scheduler_svc.switching.contents import ConsumerRecord, Contents, ProviderRecord, are_same, common_time_unit


class Difference(NamedTuple):
    """A part of a record that differs; ``part`` "" is the whole record, which one of them lacks (None)."""

    kind: str
    key: str
    part: str
    source: Any
    target: Any

    def __str__(self) -> str:
        what = f"{self.kind} {self.key}"
        if not self.part:
            return f"{what} is missing" if self.target is None else f"{what} is not in the source"
        return f"{what}: {self.part} is {_shown(self.target)} instead of {_shown(self.source)}"


class Excess(NamedTuple):
    """A provider of which more is held than its capacity."""

    provider: str
    resource_class: str
    used: int
    capacity: int

    def __str__(self) -> str:
        return f"provider {self.provider}: {self.used} of {self.capacity} {self.resource_class} are held"


def differences(source: Contents, target: Contents) -> Iterator[Difference]:
    """Yield what differs, with generations compared as they are imported; not of what could not be read."""
    expected = source.with_least_generation(target.generation_base)
    unit = common_time_unit(source, target)
    compared = {uuid: record for uuid, record in target.providers.items() if uuid not in source.unread}
    yield from _compare("provider", expected.providers, compared, unit)
    yield from _compare("consumer", expected.consumers, target.consumers, unit)
    for kind, name in sorted(expected.names.keys() ^ target.names.keys()):
        is_expected = (kind, name) in expected.names
        yield Difference(kind, name, "", is_expected or None, None if is_expected else True)


def excess(contents: Contents) -> Iterator[Excess]:
    """Yield what exceeds a capacity."""
    used: Counter[tuple[str, str]] = Counter()
    for record in contents.consumers.values():
        for provider, amounts in record.allocations.items():
            for resource_class, amount in amounts.items():
                used[provider, resource_class] += amount
    for (provider, resource_class), amount in sorted(used.items()):
        if provider in contents.unread:
            continue
        owner = contents.providers.get(provider)
        inventory = None if owner is None else owner.inventories.get(resource_class)
        capacity = 0 if inventory is None else inventory.capacity
        if amount > capacity:
            yield Excess(provider, resource_class, amount, capacity)


def _compare(
    kind: str,
    source: Mapping[str, ProviderRecord] | Mapping[str, ConsumerRecord],
    target: Mapping[str, ProviderRecord] | Mapping[str, ConsumerRecord],
    time_unit_ms: int,
) -> Iterator[Difference]:
    for uuid in sorted(source.keys() | target.keys()):
        expected, actual = source.get(uuid), target.get(uuid)
        if expected is None or actual is None:
            yield Difference(kind, uuid, "", expected, actual)
        elif not are_same(expected, actual, time_unit_ms):
            for field in dataclasses.fields(expected):
                values = getattr(expected, field.name), getattr(actual, field.name)
                if not _is_same_part(field, *values, time_unit_ms):
                    yield Difference(kind, uuid, field.name, *values)


def _is_same_part(field: dataclasses.Field[Any], first: Any, second: Any, time_unit_ms: int) -> bool:
    if field.compare:
        return bool(first == second)
    return time_unit_ms == 0 or first // time_unit_ms == second // time_unit_ms


def _shown(value: Any) -> str:
    return str(sorted(value) if isinstance(value, frozenset) else value)[:200]
