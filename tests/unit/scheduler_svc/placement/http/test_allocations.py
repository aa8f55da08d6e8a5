# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers."""

import uuid
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from scheduler_svc.core.provider_uuids import uuid_of
from tests.support.scheduler import hosts
from tests.support.scheduler.placement import PlacementApi
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import SMALL

CONSUMER, OTHER = str(uuid.uuid4()), str(uuid.uuid4())
PATH = f"/allocations/{CONSUMER}"


@pytest.fixture
def provider(api):
    created = api.create("a")
    api.set_inventories(created, VCPU=8, DISK_GB=100)
    return created


def holding(provider, generation=None, **amounts):
    """Return the body of PUT for a consumer that is to hold amounts from one provider."""
    return {
        "allocations": {provider: {"resources": amounts}} if amounts else {},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def usages(api, provider):
    return api.call("GET", f"/resource_providers/{provider}/usages").json["usages"]


def test_consumer_holds_what_was_put(api, provider):
    assert api.call("PUT", PATH, holding(provider, VCPU=2)).status == 204
    assert api.call("GET", PATH).json == {
        "allocations": {provider: {"generation": 2, "resources": {"VCPU": 2}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 1,
        "consumer_type": "INSTANCE",
    }
    assert usages(api, provider) == {"VCPU": 2, "DISK_GB": 0}


def test_allocations_were_modified_when_they_were_put(api, provider):
    began = datetime.now(UTC).replace(microsecond=0)
    api.call("PUT", PATH, holding(provider, VCPU=2))
    modified = parsedate_to_datetime(api.call("GET", PATH).headers["last-modified"])
    assert began <= modified <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("version", "added"),
    [
        ("1.11", set()),
        ("1.12", {"project_id", "user_id"}),
        ("1.27", {"project_id", "user_id"}),
        ("1.28", {"project_id", "user_id", "consumer_generation"}),
        ("1.37", {"project_id", "user_id", "consumer_generation"}),
        ("1.38", {"project_id", "user_id", "consumer_generation", "consumer_type"}),
    ],
)
def test_what_is_shown_of_a_consumer_grows_with_versions(api, provider, version, added):
    api.call("PUT", PATH, holding(provider, VCPU=2))
    assert api.call("GET", PATH, version=version).json.keys() == {"allocations"} | added


def test_consumer_may_be_named_without_dashes(api, provider):
    assert api.call("PUT", f"/allocations/{CONSUMER.replace('-', '')}", holding(provider, VCPU=2)).status == 204
    assert api.call("GET", PATH).json["consumer_generation"] == 1


def test_put_replaces_and_delete_ends_what_is_held(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=2))
    assert api.call("PUT", PATH, holding(provider, 1, DISK_GB=50)).status == 204
    assert usages(api, provider) == {"VCPU": 0, "DISK_GB": 50}
    assert api.call("DELETE", PATH).status == 204
    assert usages(api, provider) == {"VCPU": 0, "DISK_GB": 0}
    assert api.call("GET", PATH).json == {"allocations": {}}
    assert api.call("DELETE", PATH).status == 404


def test_empty_put_ends_what_is_held_from_1_28(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=2))
    assert api.call("PUT", PATH, holding(provider, 1)).status == 204
    assert usages(api, provider)["VCPU"] == 0
    body = {"allocations": {}, "project_id": "p", "user_id": "u"}
    assert api.call("PUT", PATH, body, version="1.27").status == 400


def test_end_by_put_or_post_increases_the_providers_generation_and_by_delete_does_not(api, provider):
    def generation():
        return api.call("GET", f"/resource_providers/{provider}/usages").json["resource_provider_generation"]

    endings = [
        (lambda: api.call("PUT", PATH, holding(provider, 1)), 1),
        (lambda: api.call("POST", "/allocations", {CONSUMER: holding(provider, 1)}), 1),
        (lambda: api.call("DELETE", PATH), 0),
    ]
    for end, increase in endings:
        assert api.call("PUT", PATH, holding(provider, VCPU=2)).status == 204
        before = generation()
        assert end().status == 204
        assert generation() == before + increase


@pytest.mark.parametrize("generation", [1, 0])
def test_generation_of_a_consumer_that_holds_nothing_is_null(api, provider, generation):
    answer = api.call("PUT", PATH, holding(provider, generation, VCPU=1))
    assert (answer.status, answer.error["code"]) == (409, "placement.concurrent_update")
    assert f"consumer generation conflict - expected null but got {generation}" in answer.error["detail"]


def test_outdated_generation_of_a_consumer_is_refused(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=1))
    answer = api.call("PUT", PATH, holding(provider, VCPU=2))
    assert "consumer generation conflict - expected 1 but got null" in answer.error["detail"]
    assert usages(api, provider)["VCPU"] == 1


def test_generation_of_a_consumer_is_compared_from_1_28(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=1))
    body = holding(provider, 7, VCPU=2)
    del body["consumer_type"]
    assert api.call("PUT", PATH, body, version="1.28").status == 409
    del body["consumer_generation"]
    assert api.call("PUT", PATH, body, version="1.27").status == 204


def test_outdated_generation_is_refused_before_allocations_are_checked(api, provider):
    for path, body in ((PATH, holding(provider, 7, CUSTOM_NONE=1)), (PATH, holding(str(uuid.uuid4()), 7, VCPU=1))):
        answer = api.call("PUT", path, body)
        assert (answer.status, answer.error["code"]) == (409, "placement.concurrent_update")
    assert api.call("PUT", PATH, holding(provider, CUSTOM_NONE=1)).status == 400


@pytest.mark.parametrize(
    ("amounts", "status", "text"),
    [
        ({"VCPU": 9}, 409, "would exceed the capacity"),
        ({"MEMORY_MB": 1}, 409, "Inventory for 'MEMORY_MB'"),
        ({"CUSTOM_NONE": 1}, 400, "No such resource class CUSTOM_NONE"),
        ({"VCPU": 0}, 400, "less than the minimum of 1"),
        ({"VCPU": 2**40}, 400, "1099511627776"),
        ({"VCPU": 1.5}, 400, "JSON does not validate"),
    ],
)
def test_amount_that_cannot_be_held_is_refused_and_changes_nothing(api, provider, amounts, status, text):
    answer = api.call("PUT", PATH, holding(provider, **amounts))
    assert answer.status == status
    assert text in answer.error["detail"]
    assert api.call("GET", PATH).json == {"allocations": {}}


def test_units_of_the_inventory_are_obeyed(api):
    created = api.create("a")
    inventory = {"total": 100, "min_unit": 4, "max_unit": 12, "step_size": 4}
    body = {"resource_provider_generation": 0, "inventories": {"DISK_GB": inventory}}
    api.call("PUT", f"/resource_providers/{created}/inventories", body)
    statuses = [api.call("PUT", PATH, holding(created, DISK_GB=amount)).status for amount in (2, 6, 16, 8)]
    assert statuses == [409, 409, 409, 204]


def test_unknown_provider_and_malformed_consumer_are_refused(api, provider):
    unknown = str(uuid.uuid4())
    answer = api.call("PUT", PATH, holding(unknown, VCPU=1))
    assert answer.status == 400
    assert f"Allocation for resource provider '{unknown}' that does not exist" in answer.error["detail"]
    assert api.call("PUT", "/allocations/none", holding(provider, VCPU=1)).status == 400
    assert api.call("DELETE", "/allocations/none").status == 404


def test_provider_shows_who_holds_from_it(api, provider):
    other = api.create("b")
    api.set_inventories(other, VCPU=8)
    api.call(
        "PUT",
        PATH,
        holding(provider, VCPU=2)
        | {"allocations": {provider: {"resources": {"VCPU": 2}}, other: {"resources": {"VCPU": 1}}}},
    )
    api.call("PUT", f"/allocations/{OTHER}", holding(provider, DISK_GB=5))
    path = f"/resource_providers/{provider}/allocations"
    assert api.call("GET", path).json == {
        "resource_provider_generation": 3,
        "allocations": {
            CONSUMER: {"resources": {"VCPU": 2}, "consumer_generation": 1},
            OTHER: {"resources": {"DISK_GB": 5}, "consumer_generation": 1},
        },
    }
    assert api.call("GET", path, version="1.27").json["allocations"][OTHER] == {"resources": {"DISK_GB": 5}}
    assert api.call("GET", path, version="1.28").json["allocations"][OTHER]["consumer_generation"] == 1
    assert api.call("GET", f"/resource_providers/{uuid.uuid4()}/allocations").status == 404


def test_list_of_allocations_until_1_11(api, provider):
    body = {"allocations": [{"resource_provider": {"uuid": provider}, "resources": {"VCPU": 1}}]}
    assert api.call("PUT", PATH, body, version="1.7").status == 204
    shown = api.call("GET", PATH).json
    assert (shown["project_id"], shown["user_id"], shown["consumer_type"]) == ("unknown", "unknown", "unknown")
    assert api.call("PUT", PATH, body | {"project_id": "p", "user_id": "u"}, version="1.11").status == 204
    assert api.call("GET", PATH, version="1.11").json.keys() == {"allocations"}
    assert api.call("PUT", PATH, body, version="1.12").status == 400


def test_several_consumers_are_changed_together_or_not_at_all(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=6))
    too_much = {CONSUMER: holding(provider, 1), OTHER: holding(provider, VCPU=9)}
    assert api.call("POST", "/allocations", too_much).status == 409
    assert usages(api, provider)["VCPU"] == 6
    swap = {CONSUMER: holding(provider, 1), OTHER: holding(provider, VCPU=8)}
    assert api.call("POST", "/allocations", swap).status == 204
    assert usages(api, provider)["VCPU"] == 8
    assert api.call("GET", PATH).json == {"allocations": {}}


def test_mappings_are_checked_and_ignored(api, provider):
    body = holding(provider, VCPU=1)
    assert api.call("PUT", PATH, body | {"mappings": {"": [provider]}}, version="1.39").status == 204
    assert api.call("PUT", PATH, body | {"mappings": {"_A": []}}).status == 400


def test_provider_in_use_keeps_its_inventory_and_itself(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=1))
    path = f"/resource_providers/{provider}"
    assert api.call("DELETE", path).error["code"] == "placement.resource_provider.inuse"
    assert api.call("DELETE", f"{path}/inventories/VCPU").error["code"] == "placement.concurrent_update"
    assert api.call("DELETE", f"{path}/inventories").error["code"] == "placement.inventory.inuse"
    assert api.call("DELETE", f"{path}/inventories/DISK_GB").status == 204


def test_host_of_an_agent_is_held_from_beside_claims_of_the_scheduler(api):
    hosts.join(api.store, {"h1": hosts.node({"VCPU": 4})})
    host = uuid_of("h1")
    answer = api.call("PUT", PATH, holding(host, VCPU=3))
    assert answer.status == 204, answer
    assert api.call("PUT", f"/allocations/{OTHER}", holding(host, VCPU=2)).status == 409
    assert usages(api, host) == {"VCPU": 3}


@pytest.fixture
def guest_api():
    """The API of a partition with hosts h1 and h2, where an agent has confirmed the claim of CONSUMER on h1."""
    partition = memory_partition()
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.hold(CONSUMER, "h1")
    return PlacementApi(partition.store)


def guest_request(api, allocations, **values):
    """Return the body of PUT for CONSUMER with the generation that it has."""
    generation = api.call("GET", PATH).json["consumer_generation"]
    body = holding("", generation) | {
        "allocations": {uuid_of(host): {"resources": amounts} for host, amounts in allocations.items()}
    }
    return body | values


def test_claim_that_an_agent_confirmed_is_added_to_by_its_generation_and_not_deleted(guest_api):
    added = guest_request(guest_api, {"h1": SMALL, "h2": {"VCPU": 2}})
    for answer in (
        guest_api.call("DELETE", PATH),
        guest_api.call("PUT", PATH, added | {"allocations": {}}),
        guest_api.call(
            "PUT", PATH, {key: added[key] for key in ("allocations", "project_id", "user_id")}, version="1.27"
        ),
    ):
        assert answer.status == 409, answer
        assert "compute agent" in answer.json["errors"][0]["detail"]
    stale = guest_api.call("PUT", PATH, added | {"consumer_generation": added["consumer_generation"] - 1})
    assert (stale.status, stale.error["code"]) == (409, "placement.concurrent_update")
    assert not any(usages(guest_api, uuid_of("h2")).values())
    assert guest_api.call("PUT", PATH, added).status == 204
    assert usages(guest_api, uuid_of("h2"))["VCPU"] == 2 and usages(guest_api, uuid_of("h1")) == SMALL


def test_request_for_less_than_a_guest_uses_is_a_conflict(guest_api):
    before = guest_api.call("GET", PATH).json
    lowered = guest_request(guest_api, {"h2": SMALL})
    inventories = {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 8}}}
    reshape = {"inventories": {guest_api.create("pool"): inventories}, "allocations": {CONSUMER: lowered}}
    for answer in (
        guest_api.call("PUT", PATH, lowered),
        guest_api.call("POST", "/allocations", {OTHER: holding(uuid_of("h1"), VCPU=1), CONSUMER: lowered}),
        guest_api.call("POST", "/reshaper", reshape, HTTP_X_ROLES="service"),
    ):
        assert (answer.status, answer.error["code"]) == (409, "placement.undefined_code"), answer
        text = f"The guest of consumer {CONSUMER} uses more MEMORY_MB, VCPU from resource provider {uuid_of('h1')} than"
        assert text in answer.error["detail"]
    assert guest_api.call("GET", PATH).json == before
    assert guest_api.call("GET", f"/allocations/{OTHER}").json["allocations"] == {}


@pytest.mark.parametrize("spell", [str.upper, lambda text: text.replace("-", "")], ids=["capitals", "no hyphens"])
def test_consumer_is_found_in_any_spelling(api, provider, spell):
    path = f"/allocations/{spell(CONSUMER)}"
    assert api.call("PUT", path, holding(provider, VCPU=1)).status == 204
    assert api.call("GET", PATH).json["allocations"].keys() == {provider}
    assert api.call("GET", path).json["allocations"].keys() == {provider}
    assert api.call("DELETE", path).status == 204
    assert api.call("GET", PATH).json["allocations"] == {}


def test_consumers_of_one_call_are_found_in_any_spelling(api, provider):
    body = holding(provider, VCPU=1)
    assert api.call("POST", "/allocations", {CONSUMER.upper(): body}).status == 204
    assert api.call("GET", PATH).json["allocations"].keys() == {provider}
    twice = {CONSUMER: body, CONSUMER.upper(): body}
    answer = api.call("POST", "/allocations", twice)
    assert answer.status == 400 and "one consumer in two spellings" in str(answer.json)


def test_provider_is_found_in_any_spelling(api, provider):
    capitals = provider.upper()
    assert api.call("GET", f"/resource_providers/{capitals}").json["uuid"] == provider
    assert api.call("PUT", PATH, holding(capitals, VCPU=1)).status == 204
    assert usages(api, provider)["VCPU"] == 1
