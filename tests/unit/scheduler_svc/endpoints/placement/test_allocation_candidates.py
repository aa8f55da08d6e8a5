# SPDX-License-Identifier: Apache-2.0
"""Queries for allocation candidates, and the shapes of their answers."""

import pytest

from rpcapi.resources.trees.tree import SHARING_TRAIT

CANDIDATES = "/allocation_candidates"
AGGREGATE = "5fb10ae4-0a3c-4d6c-9d1a-3f0c6c5b7a10"


def candidates(api, query, version="1.39"):
    """Return the document that answers a query."""
    answer = api.call("GET", f"{CANDIDATES}?{query}", version=version)
    assert answer.status == 200, answer
    return answer.json


def providers(document):
    """Return the sets of providers of all candidates."""
    return sorted(sorted(request["allocations"]) for request in document["allocation_requests"])


def set_traits(api, uuid, *traits):
    generation = api.call("GET", f"/resource_providers/{uuid}").json["generation"]
    body = {"resource_provider_generation": generation, "traits": list(traits)}
    assert api.call("PUT", f"/resource_providers/{uuid}/traits", body).status == 200


def set_aggregates(api, uuid, *aggregates):
    generation = api.call("GET", f"/resource_providers/{uuid}").json["generation"]
    body = {"resource_provider_generation": generation, "aggregates": list(aggregates)}
    assert api.call("PUT", f"/resource_providers/{uuid}/aggregates", body).status == 200


@pytest.fixture
def host(api):
    """A provider with 4 VCPU and no children."""
    uuid = api.create("host")
    api.set_inventories(uuid, VCPU=4, MEMORY_MB=1024)
    return uuid


@pytest.fixture
def tree(api):
    """A root with two cards below it, and a disk that shares with it; their UUIDs."""
    root, disk = api.create("root"), api.create("disk")
    cards = [api.create(f"card{number}", root) for number in range(2)]
    api.set_inventories(root, VCPU=8)
    for card in cards:
        api.set_inventories(card, VGPU=2)
    api.set_inventories(disk, DISK_GB=100)
    set_traits(api, disk, SHARING_TRAIT)
    set_aggregates(api, disk, AGGREGATE)
    set_aggregates(api, root, AGGREGATE)
    return root, disk, cards


def test_host_is_a_candidate_with_a_summary_of_what_it_has_and_uses(api, host):
    document = candidates(api, "resources=VCPU:1")
    assert document == {
        "allocation_requests": [{"allocations": {host: {"resources": {"VCPU": 1}}}, "mappings": {"": [host]}}],
        "provider_summaries": {
            host: {
                "resources": {"VCPU": {"capacity": 4, "used": 0}, "MEMORY_MB": {"capacity": 1024, "used": 0}},
                "traits": [],
                "parent_provider_uuid": None,
                "root_provider_uuid": host,
            }
        },
    }


def test_cards_and_the_sharing_disk_are_combined_in_all_ways(api, tree):
    root, disk, cards = tree
    query = "resources=VCPU:1,DISK_GB:1&resources1=VGPU:1&resources2=VGPU:1&group_policy=none"
    document = candidates(api, query)
    assert providers(document) == sorted(sorted({root, disk, *pair}) for pair in [(a, b) for a in cards for b in cards])
    assert set(document["provider_summaries"]) == {root, disk, *cards}
    isolated = candidates(api, query.replace("none", "isolate"))
    assert len(isolated["allocation_requests"]) == 2
