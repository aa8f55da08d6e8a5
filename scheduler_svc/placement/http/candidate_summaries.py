# SPDX-License-Identifier: Apache-2.0
"""Writer of candidates' provider summaries, in the form of each microversion."""

import threading
from collections.abc import Collection, Iterable
from itertools import repeat

import numpy as np
import orjson

from scheduler_svc.core.provider_uuids import uuid_of, uuids_of
from scheduler_svc.core.table.columns import IntColumn
from scheduler_svc.placement.model.candidates.contents import NO_INVENTORY, Legend, ProviderContents

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27
TREES_SINCE = 29  # microversion of the last change of the form


def write_summaries(providers: ProviderContents, version: int, requested: Collection[str] = ()) -> list[bytes]:
    """Return a summary per provider; before ALL_CLASSES_SINCE, only with ``requested`` resource classes."""
    count = len(providers.ids)
    inventories = [
        _inventories(name, capacities, used)
        for name, capacities, used in zip(providers.legend.classes, providers.capacities, providers.used, strict=True)
        if version >= ALL_CLASSES_SINCE or name in requested
    ]
    # Cut the leading comma before a provider's first inventory.
    resources = [texts[1:] for texts in map("".join, zip(*inventories, strict=True))] if inventories else [""] * count
    pieces = [repeat('"'), uuids_of(providers.ids), repeat('":{"resources":{'), resources, repeat("}")]
    if version >= TRAITS_SINCE:
        pieces += [repeat(',"traits":'), _traits(providers)]
    if version >= TREES_SINCE:
        parents = ("null" if parent is None else f'"{uuid_of(parent)}"' for parent in providers.parents)
        roots = uuids_of(providers.roots)
        pieces += [repeat(',"parent_provider_uuid":'), parents, repeat(',"root_provider_uuid":"'), roots, repeat('"')]
    return [text.encode() for text in map("".join, zip(*pieces, repeat("}")))]


class RootTexts:
    """Thread-safe cache of root providers' UUIDs and summaries, in the form since TREES_SINCE.

    A summary depends only on the root's id, its numbers and their legend, and is rewritten if one of them changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reset(0, 0, Legend((), ()))

    def of(self, roots: ProviderContents) -> tuple[list[str], list[bytes]]:
        rows, ids = roots.rows, np.array(roots.ids, object)
        with self._lock:
            size = int(rows.max(initial=-1)) + 1
            if roots.legend != self._legend or size > len(self._ids):
                enough = len(self._ids) if size <= len(self._ids) else 2 * size
                self._reset(enough, len(roots.numbers), roots.legend)
            is_same = (self._ids[rows] == ids) & (self._numbers[:, rows] == roots.numbers).all(axis=0)
            if not is_same.all():
                self._write(roots.at(np.flatnonzero(~is_same)))
            return self._uuids[rows].tolist(), self._summaries[rows].tolist()

    def _write(self, roots: ProviderContents) -> None:
        self._ids[roots.rows] = roots.ids
        self._numbers[:, roots.rows] = roots.numbers
        self._uuids[roots.rows] = uuids_of(roots.ids)
        self._summaries[roots.rows] = write_summaries(roots, TREES_SINCE)

    def _reset(self, size: int, numbers: int, legend: Legend) -> None:
        self._legend = legend
        self._numbers: IntColumn = np.zeros((numbers, size), np.int64)
        self._ids, self._uuids, self._summaries = (np.full(size, None, object) for _ in range(3))


def _inventories(resource_class: str, capacities: IntColumn, used: IntColumn) -> list[str]:
    indices = np.flatnonzero(capacities != NO_INVENTORY)
    start = repeat(f',"{resource_class}":{{"capacity":')
    numbers = _texts(capacities[indices]), repeat(',"used":'), _texts(used[indices])
    texts = map("".join, zip(start, *numbers, repeat("}")))
    if len(indices) == len(capacities):
        return list(texts)
    column = [""] * len(capacities)
    for index, text in zip(indices.tolist(), texts, strict=True):
        column[index] = text
    return column


def _texts(numbers: IntColumn) -> list[str]:
    """Format integers, in a third of the time of ``str``."""
    return orjson.dumps(numbers.tolist())[1:-1].decode().split(",") if len(numbers) else []


def _traits(providers: ProviderContents) -> Iterable[str]:
    """Return each provider's traits as JSON; each set is written once, because most providers share theirs."""
    words = providers.trait_words
    texts = {of_set: orjson.dumps(providers.legend.trait_names(of_set)).decode() for of_set in set(words)}
    return map(texts.__getitem__, words)
