# SPDX-License-Identifier: Apache-2.0
"""Random clouds of providers for Placement and for our API, and random queries for allocation candidates."""

import json
import uuid
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import urlencode

from rpcapi.resources.groups import ISOLATE, NONE
from rpcapi.resources.trees.tree import SHARING_TRAIT, TreeRequest
from tests.support.clouds import trees
from tests.support.clouds.tree_clouds import NAMES, TreeCloud
from tests.support.scheduler.placement import LATEST, PlacementApi

SPARE = "spare"
PROJECT = "lab"  # of all consumers that the peer creates, and their user
BEFORE_CONSUMER_TYPES = "1.37"
MANY = 10**6  # units of an inventory while consumers are created, which its rules could refuse


@dataclass(frozen=True, slots=True)
class Query:
    """A query string for a microversion; ``limit`` is the one in it. ``is_mixed``: it has groups of both kinds."""

    version: str
    text: str
    limit: int | None
    is_mixed: bool


def ident(name: str) -> str:
    """Return the UUID of a provider or aggregate."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def providers(random: Random) -> list[dict[str, Any]]:
    """Return the providers of a random cloud, parents first, in the form that the peer loads.

    Some children share; an unrelated provider has all names that a query may use, so that they exist.
    """
    cloud, sharing = TreeCloud(random), random.choice((0.0, 0.0, 0.0, 0.1))
    documents = [
        {
            "uuid": ident(provider.id),
            "parent": provider.parent and ident(provider.parent),
            "root": ident(provider.id.partition("/")[0]),
            "inventories": {name: inventory(random, stock) for name, stock in provider.inventories.items()},
            "used": {name: stock.used for name, stock in provider.inventories.items()},
            "traits": sorted(provider.traits | ({SHARING_TRAIT} if random.random() < sharing else set())),
            "aggregates": [ident(name) for name in sorted(provider.aggregates)],
        }
        for provider in cloud.providers
    ]
    spare = {
        **{"uuid": ident(SPARE), "parent": None, "root": ident(SPARE), "traits": list(trees.TRAITS), "aggregates": []},
        **{"inventories": {name: figures(1) for name in trees.CLASSES}, "used": dict.fromkeys(trees.CLASSES, 1)},
    }
    return [*documents, spare]


def sharing_providers(documents: list[dict[str, Any]]) -> set[str]:
    """Return the UUIDs of the providers that share; of those that are not roots, Placement 16.0.0 may answer 500."""
    return {document["uuid"] for document in documents if SHARING_TRAIT in document["traits"]}


def inventory(random: Random, stock: Any) -> dict[str, Any]:
    """Return an inventory with the capacity of a stock, or a part of it."""
    reserved = random.choice((0, 0, 0, 1, 2))
    ratio = random.choice((1.0, 1.0, 1.5, 2.0))
    fields = {"min_unit": stock.min_unit, "max_unit": stock.max_unit, "step_size": stock.step_size}
    return figures(stock.capacity + reserved, reserved=reserved, allocation_ratio=ratio) | fields


def figures(total: int, **fields: Any) -> dict[str, Any]:
    """Return an inventory."""
    defaults = {"reserved": 0, "allocation_ratio": 1.0, "min_unit": 1, "max_unit": total, "step_size": 1}
    return {"total": total, **defaults, **fields}


def load(api: PlacementApi, documents: list[dict[str, Any]]) -> None:
    """Create providers in our API."""
    names = {name for document in documents for name in document["traits"]}
    for name in names - {SHARING_TRAIT}:
        put(api, f"/traits/{name}", None)
    for name in trees.CLASSES:
        if name.startswith("CUSTOM_"):
            put(api, f"/resource_classes/{name}", None)
    for document in documents:
        identity, path = document["uuid"], f"/resource_providers/{document['uuid']}"
        body = {"name": identity, "uuid": identity, "parent_provider_uuid": document["parent"]}
        assert api.call("POST", "/resource_providers", body).status == 200
        put(api, f"{path}/traits", {"traits": document["traits"]}, path)
        put(api, f"{path}/aggregates", {"aggregates": document["aggregates"]}, path)
        put(api, f"{path}/inventories", {"inventories": {name: {"total": MANY} for name in trees.CLASSES}}, path)
        used = {name: amount for name, amount in document["used"].items() if amount}
        if used:
            consumer = {"project_id": PROJECT, "user_id": PROJECT, "consumer_generation": None}
            body = {"allocations": {identity: {"resources": used}}, **consumer}
            put(api, f"/allocations/{identity}", body, version=BEFORE_CONSUMER_TYPES)
        put(api, f"{path}/inventories", {"inventories": document["inventories"]}, path)


def put(
    api: PlacementApi, path: str, body: dict[str, Any] | None, provider: str | None = None, version: str = LATEST
) -> None:
    """Put a document, with the present generation of the provider at a path."""
    if provider is not None:
        generation = api.call("GET", provider).json["generation"]
        body = {**(body or {}), "resource_provider_generation": generation}
    answer = api.call("PUT", path, body, version=version)
    assert answer.status < 300, (path, answer)


def query(random: Random) -> Query:
    """Return a random query; older microversions get such as they know, and some that they refuse."""
    minor = random.choice((39, 39, 39, 38, 36, 35, 34, 33, 32, 31, 29, 28, 27, 25, 24, 22, 21, 17, 16, 12, 11, 10))
    while True:
        request = trees.tree_request(random, NAMES)
        if is_known(request, minor) or random.random() < 0.02:
            break
    pairs = list(parameters(request, "_" if minor >= 33 else ""))
    limit = random.choice((1, 2, 5)) if minor >= 16 and random.random() < 0.2 else None
    if limit is not None:
        pairs.append(("limit", str(limit)))
    if minor >= 25:
        pairs.append(("group_policy", (NONE if has_wrong_sums(request) else request.policy) or NONE))
    suffixes = {bool(group.suffix) for group in request.groups}
    return Query(f"1.{minor}", urlencode(pairs), limit, is_mixed=len(suffixes) > 1)


def is_known(request: TreeRequest, minor: int) -> bool:
    """Return whether a microversion has the parameters of a request."""
    groups = request.groups
    since = [
        *(36 for group in groups if not group.resources),
        *(25 for group in groups if group.suffix),
        *(39 for group in groups if group.any_of),
        *(22 for group in groups if group.forbidden),
        *(17 for group in groups if group.required),
        *(24 if len(group.member_of) > 1 else 21 for group in groups if group.member_of),
        *(32 for group in groups if group.forbidden_aggregates),
        *(31 for group in groups if group.in_tree is not None),
        *(36 for _ in request.same_subtree),
        *(35 for _ in (*request.root_required, *request.root_forbidden)),
    ]
    return minor >= max(since, default=0)


def parameters(request: TreeRequest, before_suffix: str) -> Any:
    """Yield the parameters of a request, except its policy."""
    roots = [*request.root_required, *(f"!{name}" for name in request.root_forbidden)]
    if roots:
        yield "root_required", ",".join(roots)
    for names in request.same_subtree:
        yield "same_subtree", ",".join(f"{before_suffix}{name}" for name in names)
    for group in request.groups:
        suffix = group.suffix and f"{before_suffix}{group.suffix}"
        if group.resources:
            yield f"resources{suffix}", ",".join(f"{name}:{amount}" for name, amount in group.resources.items())
        traits = [*group.required, *(f"!{name}" for name in group.forbidden)]
        if traits:
            yield f"required{suffix}", ",".join(traits)
        for names in group.any_of:
            yield f"required{suffix}", "in:" + ",".join(names)
        for names in group.member_of:
            yield f"member_of{suffix}", "in:" + ",".join(map(ident, names))
        if group.forbidden_aggregates:
            yield f"member_of{suffix}", "!in:" + ",".join(map(ident, group.forbidden_aggregates))
        if group.in_tree is not None:
            yield f"in_tree{suffix}", ident(group.in_tree)


def has_wrong_sums(request: TreeRequest) -> bool:
    """Return whether Placement computes wrong sums: with policy "isolate" if two groups request the same class.

    Only with policy "none" it copies amounts shared by candidates before adding to them (copy_arr_if_needed in 16.0.0);
    otherwise they grow from candidate to candidate.
    """
    classes = [name for group in request.groups for name in group.resources]
    return request.policy == ISOLATE and len(set(classes)) < len(classes)


def requests_of(text: str) -> list[str]:
    """Return the allocation requests of an answer, each in one form whatever the order of its members."""

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ordered(item) for key, item in value.items()}
        return sorted(map(ordered, value), key=repr) if isinstance(value, list) else value

    documents = json.loads(text)["allocation_requests"]
    return sorted(json.dumps(ordered(document), sort_keys=True) for document in documents)


def summaries_of(text: str) -> dict[str, Any]:
    """Return the provider summaries of an answer, with sorted traits."""
    summaries = json.loads(text)["provider_summaries"]
    return {
        name: summary | ({"traits": sorted(summary["traits"])} if "traits" in summary else {})
        for name, summary in summaries.items()
    }
