# SPDX-License-Identifier: Apache-2.0
"""Comparison of another Placement with gantt, and of allocations with capacity."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_svc.placement.migration.dump import PlacementDump, are_same, common_time_unit
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider


def differences(source: PlacementDump, target: PlacementDump) -> Iterator[str]:
    """Yield the differences, after raising generations as an import would. Skip unread providers."""
    expected = source.with_least_generation(target.generation_base)
    unit = common_time_unit(source, target)
    compared = {uuid: record for uuid, record in target.providers.items() if uuid not in source.unread}
    yield from _compare("provider", expected.providers, compared, unit)
    yield from _compare("consumer", expected.consumers, target.consumers, unit)
    for kind, name in sorted(expected.names.keys() ^ target.names.keys()):
        yield _whole(f"{kind} {name}", is_missing=(kind, name) in expected.names)


def excess(contents: PlacementDump) -> Iterator[str]:
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
            yield f"provider {provider}: {amount} of {capacity} {resource_class} are allocated"


def _compare(
    kind: str,
    source: Mapping[str, ImportProvider] | Mapping[str, ConsumerImport],
    target: Mapping[str, ImportProvider] | Mapping[str, ConsumerImport],
    time_unit_ms: int,
) -> Iterator[str]:
    for uuid in sorted(source.keys() | target.keys()):
        expected, actual = source.get(uuid), target.get(uuid)
        if expected is None or actual is None:
            yield _whole(f"{kind} {uuid}", is_missing=actual is None)
        elif not are_same(expected, actual, time_unit_ms):
            for field in dataclasses.fields(expected):
                expected_value, actual_value = getattr(expected, field.name), getattr(actual, field.name)
                if not _is_same_part(field, expected_value, actual_value, time_unit_ms):
                    yield f"{kind} {uuid}: {field.name} is {_shown(actual_value)} instead of {_shown(expected_value)}"


def _whole(record: str, *, is_missing: bool) -> str:
    return f"{record} is missing" if is_missing else f"{record} is not in the source"


def _is_same_part(field: dataclasses.Field[Any], first: Any, second: Any, time_unit_ms: int) -> bool:
    if field.compare:
        return bool(first == second)
    return time_unit_ms == 0 or first // time_unit_ms == second // time_unit_ms


def _shown(value: Any) -> str:
    return str(sorted(value) if isinstance(value, frozenset) else value)[:200]
