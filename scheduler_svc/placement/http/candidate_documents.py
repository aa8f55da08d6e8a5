# SPDX-License-Identifier: Apache-2.0
"""JSON of allocation candidates, in the form of each microversion.

An answer may have tens of thousands of providers that differ in a few numbers, so it is joined from text pieces.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.core.provider_uuids import uuid_of, uuids_of
from scheduler_svc.placement.http.candidate_summaries import TREES_SINCE, RootTexts, write_summaries
from scheduler_svc.placement.model.candidates.anchors import total_amounts
from scheduler_svc.placement.model.candidates.contents import ProviderContents
from scheduler_svc.placement.model.candidates.deadline import Deadline
from scheduler_svc.placement.model.candidates.request import CandidateList

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
        """Return the document that answers a query. Raises Problem 503 after the deadline.

        With ``is_limited``, the document may have only the candidates written in time, with all summaries.
        """
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
