# SPDX-License-Identifier: Apache-2.0
"""Exchanges of provider names, which must stay unique at every moment of a copy."""

from collections.abc import Mapping
from dataclasses import replace

from scheduler_svc.placement.migration.dump import PlacementDump
from scheduler_svc.store.providers.changes import ImportProvider

TEMPORARY = "renamed-"  # prefix of temporary provider names during a swap


def temporary_records(source: PlacementDump, target: PlacementDump) -> list[ImportProvider]:
    """Return the target's providers whose names others take, under temporary names.

    These providers get a new name in the same copy, along a chain that ends at a free name, or in a cycle.
    """
    holders = {record.name: uuid for uuid, record in target.providers.items()}
    former = {uuid: target.providers[uuid].name for uuid in source.providers if uuid in target.providers}
    names = {
        uuid: record.name
        for uuid, record in source.providers.items()
        if former.get(uuid) != record.name and uuid not in target.protected
    }
    resolvable: dict[str, bool] = {}
    return [
        replace(target.providers[holder], name=TEMPORARY + holder)
        for uuid in names
        if _is_resolvable(uuid, names, holders, resolvable) and (holder := holders.get(names[uuid])) is not None
    ]


def _is_resolvable(
    uuid: str, names: Mapping[str, str], holders: Mapping[str, str], resolvable: dict[str, bool]
) -> bool:
    """Return whether a provider gets its name once all renamed ones gave up theirs; memoized in ``resolvable``."""
    path: dict[str, None] = {}
    current: str | None = uuid
    while current is not None and current in names and current not in path and current not in resolvable:
        path[current] = None
        current = holders.get(names[current])
    answer = current is None or current in path or resolvable.get(current, False)
    resolvable.update(dict.fromkeys(path, answer))
    return resolvable[uuid]
