# SPDX-License-Identifier: Apache-2.0
"""The JSON of allocation candidates, in the form of each microversion.

An answer may have tens of thousands of providers that differ in few numbers, so it is joined from pieces of text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.placement.candidates.anchors import total_amounts
from scheduler_svc.placement.candidates.request import CandidateList, ProviderSummaries
from scheduler_svc.placement.identities import uuid_of

BY_PROVIDER_SINCE = Microversion(1, 12)
TRAITS_SINCE = Microversion(1, 17)
ALL_CLASSES_SINCE = Microversion(1, 27)
TREES_SINCE = Microversion(1, 29)
MAPPINGS_SINCE = Microversion(1, 34)

_MARK = "@"  # stands for a UUID in a template; no name of a class or group has it


def to_json(answer: CandidateList, request: TreeRequest, version: Microversion) -> bytes:
    """Return the document that answers a query."""
    requests = [*_bare_requests(answer.bare_roots, request, version), *_requests(answer.candidates, version)]
    classes = None if version >= ALL_CLASSES_SINCE else set(total_amounts(request))
    summaries = _summaries(answer.providers, classes, version)
    return "".join(
        ('{"allocation_requests":[', ",".join(requests), '],"provider_summaries":{', ",".join(summaries), "}}")
    ).encode()


def _bare_requests(roots: Sequence[str], request: TreeRequest, version: Microversion) -> Iterable[str]:
    """Return the requests of roots that serve all groups: they differ in the UUID only."""
    providers = {group.suffix: (_MARK,) for group in request.groups}
    template = _request({_MARK: total_amounts(request)}, providers, version).split(_MARK)
    return (uuid_of(name).join(template) for name in roots)


def _requests(candidates: Sequence[AllocationCandidate], version: Microversion) -> Iterator[str]:
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


def _summaries(providers: ProviderSummaries, classes: set[str] | None, version: Microversion) -> Iterator[str]:
    """Yield a summary of each provider, with the inventories of these classes, None: all."""
    resources = [""] * len(providers.ids)  # each inventory begins with a comma
    for resource_class, indices, capacities, used in providers.classes:
        if classes is None or resource_class in classes:
            start = f',"{resource_class}":{{"capacity":'
            for index, capacity, amount in zip(indices, capacities, used, strict=True):
                resources[index] += f'{start}{capacity},"used":{amount}}}'
    uuids = [uuid_of(name) for name in providers.ids]
    for uuid, inventories, rest in zip(uuids, resources, _rests(providers, uuids, version), strict=True):
        yield f'"{uuid}":{{"resources":{{{inventories[1:]}}}{rest}}}'


def _rests(providers: ProviderSummaries, uuids: Sequence[str], version: Microversion) -> Iterator[str]:
    """Yield the part of each provider's summary behind its resources; ``uuids`` are those of the providers."""
    if version < TRAITS_SINCE:
        yield from ("" for _ in uuids)
        return
    texts: dict[int, str] = {}  # by the identity of the set of traits: most providers share one
    for uuid, names, parent, root in zip(uuids, providers.traits, providers.parents, providers.roots, strict=True):
        traits = texts.get(id(names))
        if traits is None:
            traits = texts[id(names)] = f',"traits":{orjson.dumps(names).decode()}'
        if version < TREES_SINCE:
            yield traits
        elif parent is None:
            yield f'{traits},"parent_provider_uuid":null,"root_provider_uuid":"{uuid}"'
        else:
            yield f'{traits},"parent_provider_uuid":"{uuid_of(parent)}","root_provider_uuid":"{uuid_of(root)}"'
