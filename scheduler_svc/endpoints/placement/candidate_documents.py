# SPDX-License-Identifier: Apache-2.0
"""The JSON of allocation candidates, in the form of each microversion.

An answer may have tens of thousands of providers that differ in few numbers, so it is joined from pieces of text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import orjson

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.placement.candidates.anchors import total_amounts
from scheduler_svc.placement.candidates.deadline import Deadline
from scheduler_svc.placement.candidates.request import CandidateList, ClassSummary, ProviderSummaries
from scheduler_svc.placement.identities import uuids_of

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
    providers = answer.providers
    uuids = dict(zip(providers.ids, uuids_of(providers.ids), strict=True))
    requests = _bare_requests(map(uuids.__getitem__, answer.bare_roots), request, version)
    requests += _requests(deadline.requests_in_time(answer.candidates, may_end=is_limited), uuids, version)
    classes = None if version >= ALL_CLASSES_SINCE else set(total_amounts(request))
    summaries = _summaries(providers, uuids, classes, version, deadline)
    parts = ('{"allocation_requests":[', ",".join(requests), '],"provider_summaries":{', ",".join(summaries), "}}")
    return b"".join(part.encode() for part in parts)


def _bare_requests(uuids: Iterable[str], request: TreeRequest, version: Microversion) -> list[str]:
    """Return the requests of roots that serve all groups: they differ in the UUID only."""
    providers = {group.suffix: (_MARK,) for group in request.groups}
    template = _request({_MARK: total_amounts(request)}, providers, version).split(_MARK)
    return [uuid.join(template) for uuid in uuids]


def _requests(
    candidates: Iterable[AllocationCandidate], uuids: Mapping[str, str], version: Microversion
) -> Iterator[str]:
    for candidate in candidates:
        amounts = {uuids[name]: amounts for name, amounts in candidate.allocations.items()}
        providers = {suffix: [uuids[name] for name in names] for suffix, names in candidate.providers.items()}
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
    providers: ProviderSummaries,
    uuids: Mapping[str, str],
    classes: set[str] | None,
    version: Microversion,
    deadline: Deadline,
) -> Iterator[str]:
    """Return a summary of each provider, with the inventories of these classes, None: all."""
    count = len(providers.ids)
    inventories = [
        _inventories(summary, count)
        for summary in deadline.checked(providers.classes)
        if classes is None or summary.resource_class in classes
    ]
    # Of those of a provider, all but the first need the comma that they begin with.
    resources = [texts[1:] for texts in map("".join, zip(*inventories, strict=True))] if inventories else repeat("")
    pieces = [repeat('"'), uuids.values(), repeat('":{"resources":{'), resources, repeat("}")]
    if version >= TRAITS_SINCE:
        pieces += [repeat(',"traits":'), _traits(providers)]
    if version >= TREES_SINCE:
        deadline.require()
        parents = ("null" if parent is None else f'"{uuids[parent]}"' for parent in providers.parents)
        roots = map(uuids.__getitem__, providers.roots)
        pieces += [repeat(',"parent_provider_uuid":'), parents, repeat(',"root_provider_uuid":"'), roots, repeat('"')]
    deadline.require()
    return map("".join, zip(*pieces, repeat("}")))


def _inventories(summary: ClassSummary, count: int) -> list[str]:
    """Return the inventory of a class, behind a comma, of each of ``count`` providers, '' of those without one."""
    start = repeat(f',"{summary.resource_class}":{{"capacity":')
    texts = map("".join, zip(start, _texts(summary.capacities), repeat(',"used":'), _texts(summary.used), repeat("}")))
    if len(summary.indices) == count:
        return list(texts)
    column = [""] * count
    for index, text in zip(summary.indices, texts, strict=True):
        column[index] = text
    return column


def _texts(numbers: Sequence[int]) -> list[str]:
    """Return the texts of integers, of one or more; a third of the time that ``str`` takes."""
    return orjson.dumps(numbers)[1:-1].decode().split(",")


def _traits(providers: ProviderSummaries) -> Iterable[str]:
    """Return the traits of each provider. Most share a set with others: one object, as TraitColumns returns it."""
    sets = {id(names): names for names in providers.traits}
    texts = {key: orjson.dumps(names).decode() for key, names in sets.items()}
    return map(texts.__getitem__, map(id, providers.traits))
