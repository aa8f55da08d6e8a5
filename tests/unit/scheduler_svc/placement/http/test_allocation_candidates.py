# SPDX-License-Identifier: Apache-2.0
"""Queries for allocation candidates, and the shapes of their answers."""

import uuid

import pytest

from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.placement.model.candidates.finder import SearchLimits
from tests.support.scheduler import hosts
from tests.support.scheduler.placement import PlacementApi

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


def test_search_without_time_gets_503_with_a_time_to_retry():
    api = PlacementApi(limits=SearchLimits(timeout_s=0.0))
    root = api.create("root")
    api.set_inventories(root, VCPU=8)
    api.set_inventories(api.create("card", root), VGPU=2)
    answer = api.call("GET", f"{CANDIDATES}?resources=VCPU:1&resources1=VGPU:1&group_policy=none")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert "search for allocation candidates was stopped" in answer.error["detail"]


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


def test_mappings_name_the_provider_of_a_group_without_resources(api, tree):
    root, _disk, cards = tree
    set_traits(api, root, "HW_NUMA_ROOT")
    query = "resources_card=VGPU:1&required_numa=HW_NUMA_ROOT&same_subtree=_card,_numa&group_policy=none"
    mappings = [request["mappings"] for request in candidates(api, query)["allocation_requests"]]
    assert sorted(groups["_card"] for groups in mappings) == sorted([card] for card in cards)
    assert [groups["_numa"] for groups in mappings] == [[root], [root]]


def test_cards_and_the_sharing_disk_are_combined_in_all_ways(api, tree):
    root, disk, cards = tree
    query = "resources=VCPU:1,DISK_GB:1&resources1=VGPU:1&resources2=VGPU:1&group_policy=none"
    document = candidates(api, query)
    assert providers(document) == sorted(sorted({root, disk, *pair}) for pair in [(a, b) for a in cards for b in cards])
    assert set(document["provider_summaries"]) == {root, disk, *cards}
    isolated = candidates(api, query.replace("none", "isolate"))
    assert len(isolated["allocation_requests"]) == 2


@pytest.mark.parametrize(
    ("version", "request_keys", "summary_keys"),
    [
        ("1.10", {"allocations"}, {"resources"}),
        ("1.17", {"allocations"}, {"resources", "traits"}),
        ("1.29", {"allocations"}, {"resources", "traits", "parent_provider_uuid", "root_provider_uuid"}),
        ("1.34", {"allocations", "mappings"}, {"resources", "traits", "parent_provider_uuid", "root_provider_uuid"}),
    ],
)
def test_fields_are_those_of_the_microversion(api, host, version, request_keys, summary_keys):
    document = candidates(api, "resources=VCPU:1", version)
    assert [set(request) for request in document["allocation_requests"]] == [request_keys]
    assert set(document["provider_summaries"][host]) == summary_keys


def test_allocations_are_a_list_before_1_12(api, host):
    (request,) = candidates(api, "resources=VCPU:1", "1.11")["allocation_requests"]
    assert request == {"allocations": [{"resource_provider": {"uuid": host}, "resources": {"VCPU": 1}}]}


def test_summaries_have_all_classes_from_1_27(api, host):
    for version, classes in (("1.26", {"VCPU"}), ("1.27", {"VCPU", "MEMORY_MB"})):
        summary = candidates(api, "resources=VCPU:1", version)["provider_summaries"][host]
        assert set(summary["resources"]) == classes


def test_child_names_its_parent_and_root(api, tree):
    root, _, cards = tree
    summaries = candidates(api, "resources=VGPU:1")["provider_summaries"]
    for card in cards:
        assert (summaries[card]["parent_provider_uuid"], summaries[card]["root_provider_uuid"]) == (root, root)


def test_standard_traits_come_before_custom_ones(api, host):
    assert api.call("PUT", "/traits/CUSTOM_A").status == 201
    set_traits(api, host, "CUSTOM_A", "HW_CPU_X86_AVX")
    assert candidates(api, "resources=VCPU:1")["provider_summaries"][host]["traits"] == ["HW_CPU_X86_AVX", "CUSTOM_A"]


def test_first_of_repeated_limits_and_policies_counts(api, host):
    other = api.create("other")
    api.set_inventories(other, VCPU=4)
    query = "resources1=VCPU:1&resources2=VCPU:1&group_policy=none&group_policy=isolate"
    assert len(candidates(api, f"{query}&limit=1&limit=2")["allocation_requests"]) == 1
    assert len(candidates(api, f"{query}&limit=2&limit=1")["allocation_requests"]) == 2


def test_claims_of_both_kinds_of_clients_count_at_once(api):
    hosts.join(api.store, {"h1": hosts.node({"VCPU": 4}, ["HW_CPU_X86_AVX"])})
    reported = uuid_of("h1")
    query = "resources=VCPU:2&required=HW_CPU_X86_AVX"
    assert providers(candidates(api, query)) == [[reported]]
    state, intent = api.store.snapshot(), Intent("c1", 1, [Candidate("h1")])
    batch = ClaimBatch("r", "p", "u", {"VCPU": 2}, [intent], state.epoch, state.position, ttl_ms=60_000)
    assert api.store.prepare(batch).accepted
    summary = candidates(api, query)["provider_summaries"][reported]
    assert summary["resources"]["VCPU"] == {"capacity": 4, "used": 2}
    body = {
        "allocations": {reported: {"resources": {"VCPU": 1}}},
        **{"project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE"},
    }
    assert api.call("PUT", f"/allocations/{uuid.uuid4()}", body).status == 204
    assert candidates(api, query)["allocation_requests"] == []


def test_unknown_provider_or_aggregate_has_no_candidates(api, host):
    for query in (f"in_tree={AGGREGATE}", f"member_of={AGGREGATE}"):
        assert candidates(api, f"resources=VCPU:1&{query}") == {"allocation_requests": [], "provider_summaries": {}}


def test_trait_that_only_an_agent_reported_is_known(api, host):
    hosts.join(api.store, {"h1": hosts.node({"CUSTOM_CARD": 4}, ["CUSTOM_REPORTED"])})
    assert providers(candidates(api, "resources=CUSTOM_CARD:1&required=CUSTOM_REPORTED")) == [[uuid_of("h1")]]
    assert providers(candidates(api, "resources=VCPU:1&required=!CUSTOM_REPORTED")) == [[host]]


@pytest.mark.parametrize(
    ("query", "text", "code"),
    [
        ("resources=VCPU:1&required=CUSTOM_NONE", "No such trait(s): CUSTOM_NONE", None),
        ("resources=CUSTOM_NONE:1", "Invalid resource class in resources parameter", None),
        ("resources=VCPU:" + 19 * "9", "at most 18 digits", None),
        ("resources=VCPU:1&limit=0", "Failed validating 'pattern'", None),
        ("resources=VCPU:1&limit=abc&limit=5", "'abc' does not match", None),
        ("resources=VCPU:1&limit=5&limit=-5", "'-5' does not match", None),
        ("resources=VCPU:1&limit=5%0A", "A value ends with a line break", None),
        ("resources1=VCPU:1&resources2=VCPU:1&group_policy=evil&group_policy=none", "'evil' is not one of", None),
        ("resources=VCPU:1&resources=VCPU:2", "'resources' may be specified only", "placement.query.duplicate_key"),
        ("resources=VCPU:1&limit=" + 5000 * "9", "Invalid query string parameters", None),
        ("group_policy=none&" + "&".join(f"resources{n}=VCPU:1" for n in range(1000 - 1)), "at most 64 request", None),
        ("resources=" + ",".join(f"CUSTOM_{n}:1" for n in range(999)), "at most 32 resource classes", None),
        ("resources1=VCPU:1&" + "&".join("same_subtree=1" for _ in range(65)), "at most 64 same_subtree", None),
        ("resources1=VCPU:1&resources2=VCPU:1", 'The "group_policy" parameter is required', None),
        ("resources=VCPU:1&in_tree=x", "Expected 'in_tree' parameter to be a format of uuid", None),
        ("resources=VCPU:1&required=HW_CPU_X86_AVX,!HW_CPU_X86_AVX", "Conflicting required and forbidden", None),
        ("required=HW_CPU_X86_AVX", "There must be at least one resources", "placement.query.missing_value"),
        ("resources=VCPU:1&same_subtree=", "Empty string (unsuffixed group)", "placement.query.bad_value"),
        ("resources=VCPU:1&same_subtree=_a", "Real suffixes should be specified", "placement.query.bad_value"),
        (
            "resources=VCPU:1&root_required=HW_CPU_X86_AVX,!HW_CPU_X86_AVX",
            "Conflicting required and forbidden traits found in root_required: HW_CPU_X86_AVX",
            "placement.query.bad_value",
        ),
        ("resources=VCPU:1&required_a=HW_CPU_X86_AVX", "Resourceless suffixed group", "placement.query.bad_value"),
        (
            "resources=VCPU:1&root_required=HW_CPU_X86_AVX&root_required=HW_CPU_X86_SSE",
            "may be specified only once",
            "placement.query.duplicate_key",
        ),
    ],
)
def test_wrong_query_is_refused(api, query, text, code):
    answer = api.call("GET", f"{CANDIDATES}?{query}")
    assert answer.status == 400
    assert text in answer.error["detail"]
    assert answer.error["code"] == (code or "placement.undefined_code")


@pytest.mark.parametrize(
    ("version", "query", "text"),
    [
        ("1.15", "resources=VCPU:1&limit=1", "'limit' was unexpected"),
        ("1.24", "resources1=VCPU:1", "'resources1' was unexpected"),
        ("1.32", "resources_a=VCPU:1", "does not match any of the regexes"),
        ("1.35", "resources=VCPU:1&required1=HW_CPU_X86_AVX", "orphaned traits keys: required1"),
        ("1.35", f"resources=VCPU:1&member_of1={AGGREGATE}", "orphaned member_of keys: member_of1"),
        ("1.35", "limit=1", "At least one request group"),
        ("1.35", f"in_tree={AGGREGATE}", "All request groups must specify resources."),
    ],
)
def test_parameters_are_those_of_the_microversion(api, version, query, text):
    answer = api.call("GET", f"{CANDIDATES}?{query}", version=version)
    assert answer.status == 400
    assert text in answer.error["detail"]


def test_there_are_no_candidates_before_1_10(api):
    assert api.call("GET", f"{CANDIDATES}?resources=VCPU:1", version="1.9").status == 404


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "abc"),
        ("&required=in:CUSTOM_A,CUSTOM_B", "ab"),
        ("&required=in:CUSTOM_A,CUSTOM_B&required=in:CUSTOM_B,CUSTOM_C", "b"),
        ("&required=!CUSTOM_A", "bc"),
        ("&root_required=CUSTOM_A", "a"),
        ("&root_required=!CUSTOM_A", "bc"),
        ("&root_required=CUSTOM_C,!CUSTOM_A", "c"),
        (f"&member_of={AGGREGATE}", "a"),
        (f"&member_of=!{AGGREGATE}", "bc"),
    ],
)
def test_conditions_select_among_the_hosts(api, query, names):
    uuids = {name: api.create(name) for name in "abc"}
    for name, host in uuids.items():
        assert api.call("PUT", f"/traits/CUSTOM_{name.upper()}").status == 201
        api.set_inventories(host, VCPU=4)
        set_traits(api, host, f"CUSTOM_{name.upper()}")
    set_aggregates(api, uuids["a"], AGGREGATE)
    assert providers(candidates(api, f"resources=VCPU:1{query}")) == sorted([uuids[name]] for name in names)
