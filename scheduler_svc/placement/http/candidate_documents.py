# SPDX-License-Identifier: Apache-2.0
"""JSON of allocation candidates of each microversion, joined from text pieces: answers have thousands of providers."""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import orjson

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.core.provider_uuids import uuid_of, uuids_of
from scheduler_svc.core.table.columns import IntColumn
from scheduler_svc.placement.model.candidates.anchors import total_amounts
from scheduler_svc.placement.model.candidates.contents import NO_INVENTORY, Legend, ProviderContents
from scheduler_svc.placement.model.candidates.deadline import Deadline
from scheduler_svc.placement.model.candidates.request import CandidateList

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27
TREES_SINCE = 29  # microversion of the last change of the form


def write_summaries(providers: ProviderContents, version: int, requested: Collection[str] = ()) -> list[bytes]:
    """Return one summary per provider. Before ALL_CLASSES_SINCE it has only the ``requested`` resource classes."""
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


BY_PROVIDER_SINCE = 12
MAPPINGS_SINCE = 34

_MARK = "@"  # placeholder of a UUID in a template; does not occur in names of classes or groups


class CandidateDocuments:
    """Writer of a process's answers; caches the JSON of roots, which rarely changes. Thread-safe."""

    def __init__(self) -> None:
        self._root_texts = RootTexts()

    def to_json(
        self,
        answer: CandidateList,
        request: TreeRequest,
        version: int,
        deadline: Deadline,
        *,
        is_limited: bool,
    ) -> bytes:
        """Return the answer; with ``is_limited``, perhaps only the candidates in time. Raises Problem 503."""
        requests: list[str] = []
        summaries: list[bytes] = []
        classes = total_amounts(request)
        for roots in answer.bare_roots:
            deadline.require()
            uuids, of_roots = self._write_roots(roots, version, classes)
            requests += _bare_requests(uuids, request, version)
            summaries += of_roots
        requests += _requests(deadline.requests_in_time(answer.candidates, may_end=is_limited), version)
        for providers in answer.providers:
            deadline.require()
            summaries += write_summaries(providers, version, classes)
        deadline.require()
        pieces = [b'{"allocation_requests":[', ",".join(requests).encode(), b'],"provider_summaries":{']
        return b"".join([*pieces, *_separated(summaries), b"}}"])

    def _write_roots(
        self, roots: ProviderContents, version: int, classes: Collection[str]
    ) -> tuple[list[str], list[bytes]]:
        if version >= TREES_SINCE:
            return self._root_texts.of(roots)
        return uuids_of(roots.ids), write_summaries(roots, version, classes)


def _bare_requests(uuids: Iterable[str], request: TreeRequest, version: int) -> list[str]:
    """Return the allocation requests of roots that serve all groups: they differ only in the UUID."""
    providers = {group.suffix: (_MARK,) for group in request.groups}
    template = _request({_MARK: total_amounts(request)}, providers, version).split(_MARK)
    return [uuid.join(template) for uuid in uuids]


def _requests(candidates: Iterable[AllocationCandidate], version: int) -> Iterator[str]:
    for candidate in candidates:
        amounts = {uuid_of(name): amounts for name, amounts in candidate.allocations.items()}
        # Some providers have no allocation, because a group may request traits only.
        providers = {suffix: uuids_of(names) for suffix, names in candidate.providers.items()}
        yield _request(amounts, providers, version)


def _request(allocations: Mapping[str, Mapping[str, int]], providers: Mapping[str, Sequence[str]], version: int) -> str:
    document: dict[str, Any]
    if version >= BY_PROVIDER_SINCE:
        document = {"allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}}
    else:
        entries = [{"resource_provider": {"uuid": uuid}, "resources": amounts} for uuid, amounts in allocations.items()]
        document = {"allocations": entries}
    if version >= MAPPINGS_SINCE:
        document["mappings"] = providers
    return orjson.dumps(document).decode()


def _separated(texts: Sequence[bytes]) -> list[bytes]:
    pieces = [b","] * max(2 * len(texts) - 1, 0)
    pieces[::2] = texts
    return pieces
