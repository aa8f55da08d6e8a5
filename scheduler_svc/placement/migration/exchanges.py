# SPDX-License-Identifier: Apache-2.0
"""Exchanges of provider names during a copy, in which names must always be unique."""

from collections.abc import Mapping
from dataclasses import replace

from scheduler_svc.placement.migration.dump import PlacementDump
from scheduler_svc.store.providers.changes import ImportProvider

TEMPORARY = "renamed-"  # of provider names during an exchange


def temporary_records(source: PlacementDump, target: PlacementDump) -> list[ImportProvider]:
    """Return the target's providers that must give up their names to others, with temporary names.

    Each of them gets its new name later in the copy. Renamed providers form cycles, or chains that end at a free name.
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
    """Return whether a provider gets its name once all others gave up theirs; memoized in ``resolvable``."""
    path: dict[str, None] = {}
    current: str | None = uuid
    while current is not None and current in names and current not in path and current not in resolvable:
        path[current] = None
        current = holders.get(names[current])
    answer = current is None or current in path or resolvable.get(current, False)
    resolvable.update(dict.fromkeys(path, answer))
    return resolvable[uuid]
