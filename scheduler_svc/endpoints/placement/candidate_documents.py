# SPDX-License-Identifier: Apache-2.0
"""The JSON of allocation candidates, in the form of each microversion.

An answer may have tens of thousands of providers that differ in few numbers, so it is joined from pieces of text.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.placement.candidates.anchors import total_amounts
from scheduler_svc.placement.candidates.deadline import Deadline
from scheduler_svc.placement.candidates.request import CandidateList, ClassSummary, ProviderSummaries
from scheduler_svc.placement.identities import uuid_of, uuids_of

BY_PROVIDER_SINCE = Microversion(1, 12)
TRAITS_SINCE = Microversion(1, 17)
ALL_CLASSES_SINCE = Microversion(1, 27)
TREES_SINCE = Microversion(1, 29)
MAPPINGS_SINCE = Microversion(1, 34)

_MARK = "@"  # stands for a UUID in a template; no name of a class or group has it


def to_json(
    answer: CandidateList, request: TreeRequest, version: Microversion, deadline: Deadline, *, is_limited: bool
) -> bytes:
    """Return the document that answers a query; raises Problem 503 where the time is over.

    An answer that ``is_limited`` has the candidates that could be written in time, beside the summaries of all.
    """
    requests = _bare_requests(answer.bare_roots, request, version)
    requests += _requests(deadline.requests_in_time(answer.candidates, may_end=is_limited), version)
    classes = None if version >= ALL_CLASSES_SINCE else set(total_amounts(request))
    summaries = _summaries(answer.providers, classes, version, deadline)
    return "".join(
        ('{"allocation_requests":[', ",".join(requests), '],"provider_summaries":{', ",".join(summaries), "}}")
    ).encode()


def _bare_requests(roots: Sequence[str], request: TreeRequest, version: Microversion) -> list[str]:
    """Return the requests of roots that serve all groups: they differ in the UUID only."""
    providers = {group.suffix: (_MARK,) for group in request.groups}
    template = _request({_MARK: total_amounts(request)}, providers, version).split(_MARK)
    return [uuid.join(template) for uuid in uuids_of(roots)]


def _requests(candidates: Iterable[AllocationCandidate], version: Microversion) -> Iterator[str]:
    for candidate in candidates:
        amounts = {uuid_of(name): amounts for name, amounts in candidate.allocations.items()}
        providers = {suffix: list(map(uuid_of, names)) for suffix, names in candidate.providers.items()}
        yield _request(amounts, providers, version)


def _request(
    allocations: Mapping[str, Mapping[str, int]], providers: Mapping[str, Sequence[str]], version: Microversion
) -> str:
    """Return an allocation request, with the providers of each group where the microversion has them."""
    document: dict[str, Any]
    if version >= BY_PROVIDER_SINCE:
        document = {"allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}}
    else:
        entries = [{"resource_provider": {"uuid": uuid}, "resources": amounts} for uuid, amounts in allocations.items()]
        document = {"allocations": entries}
    if version >= MAPPINGS_SINCE:
        document["mappings"] = providers
    return orjson.dumps(document).decode()


def _summaries(
    providers: ProviderSummaries, classes: set[str] | None, version: Microversion, deadline: Deadline
) -> list[str]:
    """Return a summary of each provider, with the inventories of these classes, None: all."""
    columns = [
        _inventories(summary, len(providers.ids))
        for summary in deadline.checked(providers.classes)
        if classes is None or summary.resource_class in classes
    ]
    resources = map("".join, zip(*columns, strict=True)) if columns else itertools.repeat("", len(providers.ids))
    uuids = uuids_of(providers.ids)
    rests = deadline.checked(_rests(providers, uuids, version))
    return [
        f'"{uuid}":{{"resources":{{{inventories[1:]}}}{rest}}}'
        for uuid, inventories, rest in zip(uuids, resources, rests, strict=True)
    ]


def _inventories(summary: ClassSummary, count: int) -> list[str]:
    """Return the inventory of a class, behind a comma, of each of ``count`` providers, '' of those without one."""
    start = f',"{summary.resource_class}":{{"capacity":'
    texts = [
        f'{start}{capacity},"used":{used}}}' for capacity, used in zip(summary.capacities, summary.used, strict=True)
    ]
    if len(texts) == count:
        return texts
    column = [""] * count
    for index, text in zip(summary.indices, texts, strict=True):
        column[index] = text
    return column


def _rests(providers: ProviderSummaries, uuids: Sequence[str], version: Microversion) -> Iterable[str]:
    """Return the part of each provider's summary behind its resources; ``uuids`` are those of the providers."""
    if version < TRAITS_SINCE:
        return itertools.repeat("", len(uuids))
    # Most providers share a set of traits with others: one object, as TraitColumns returns it.
    sets = {id(names): names for names in providers.traits}
    texts = {key: f',"traits":{orjson.dumps(names).decode()}' for key, names in sets.items()}
    traits = [texts[id(names)] for names in providers.traits]
    if version < TREES_SINCE:
        return traits
    parents = ["null" if parent is None else f'"{uuid_of(parent)}"' for parent in providers.parents]
    roots = [
        uuid if parent is None else uuid_of(root)
        for uuid, parent, root in zip(uuids, providers.parents, providers.roots, strict=True)
    ]
    return [
        f'{text},"parent_provider_uuid":{parent},"root_provider_uuid":"{root}"'
        for text, parent, root in zip(traits, parents, roots, strict=True)
    ]
