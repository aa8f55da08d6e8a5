# SPDX-License-Identifier: Apache-2.0
"""Lists of providers by columns are those of the providers that fulfil all conditions when each is read by itself."""

import itertools
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scheduler import hosts
from tests.support.scheduler.placement import PlacementApi

TRAITS = ("CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_AVX")
CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_X")
AGGREGATES = tuple(f"{digit}0000000-0000-4000-8000-000000000000" for digit in "123")
CLOUDS, QUERIES = 60, 12


def some(random: Random, names: tuple[str, ...]) -> list[str]:
    return random.sample(names, random.randint(0, len(names)))


def fill(api: PlacementApi, random: Random) -> list[str]:
    """Make providers of both owners; return the UUIDs of those that exist."""
    for kind, names in (("traits", TRAITS), ("resource_classes", CLASSES)):
        for name in names:
            if name.startswith("CUSTOM_"):
                api.call("PUT", f"/{kind}/{name}")
    nodes = {f"h1/n{number}": hosts.node({"VCPU": 4}, some(random, TRAITS)) for number in range(random.randint(0, 2))}
    if nodes:
        hosts.join(api.store, nodes | {"h1/n0/c": hosts.child_provider("h1/n0", "h1/n0", {"CUSTOM_X": 2})})
    uuids = [document["uuid"] for document in api.call("GET", "/resource_providers").json["resource_providers"]]
    for number in range(random.randint(1, 6)):
        parent = random.choice([None, *uuids])
        uuids.append(uuid := api.create(f"p{number}", parent))
        generation = 0
        inventories = {
            name: {"total": random.randint(1, 6), "min_unit": random.choice((1, 1, 2)), "step_size": 1}
            for name in some(random, CLASSES)
        }
        for part, value in (("inventories", inventories), ("traits", some(random, TRAITS)), ("aggregates", None)):
            body = {part: some(random, AGGREGATES) if value is None else value}
            answer = api.call(
                "PUT", f"/resource_providers/{uuid}/{part}", body | {"resource_provider_generation": generation}
            )
            generation = answer.json["resource_provider_generation"]
    for number, uuid in enumerate(random.sample(uuids, len(uuids) // 2)):
        resources = {random.choice(CLASSES): random.randint(1, 3)}
        consumer = f"c0000000-0000-4000-8000-{number:012}"
        owner = {"project_id": "p", "user_id": "u", "consumer_type": "X", "consumer_generation": None}
        api.call("PUT", f"/allocations/{consumer}", {"allocations": {uuid: {"resources": resources}}} | owner)
    for uuid in random.sample(uuids, min(2, len(uuids))):
        if api.call("DELETE", f"/resource_providers/{uuid}").status == 204:
            uuids.remove(uuid)
    return uuids


def read(api: PlacementApi, uuid: str) -> dict[str, Any]:
    """Read one provider with all its parts."""
    path = f"/resource_providers/{uuid}"
    parts = {name: api.call("GET", f"{path}/{name}").json for name in ("inventories", "traits", "aggregates", "usages")}
    shown: dict[str, Any] = {name: parts[name][name] for name in parts}
    return {"document": api.call("GET", path).json} | shown


def fits(provider: dict[str, Any], name: str, amount: int) -> bool:
    inventory = provider["inventories"].get(name)
    if inventory is None:
        return False
    free = (inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"] - provider["usages"][name]
    return amount <= free and inventory["min_unit"] <= amount <= inventory["max_unit"]


def conditions(random: Random, providers: list[dict[str, Any]]) -> tuple[str, list[Any]]:
    """Return a query, and the conditions that it states."""
    parameters, tests = [], []
    documents = [provider["document"] for provider in providers]
    for kind in random.sample(("name", "uuid", "in_tree", "member_of", "required", "resources"), random.randint(0, 3)):
        document = random.choice(documents)
        if kind in ("name", "uuid"):
            text = document[kind]
            tests.append(lambda provider, kind=kind, text=text: provider["document"][kind] == text)
        elif kind == "in_tree":
            text, root = document["uuid"], document["root_provider_uuid"]
            tests.append(lambda provider, root=root: provider["document"]["root_provider_uuid"] == root)
        elif kind == "resources":
            amounts = {name: random.randint(1, 4) for name in random.sample(CLASSES, random.randint(1, 2))}
            text = ",".join(f"{name}:{amount}" for name, amount in amounts.items())
            tests += [lambda provider, item=item: fits(provider, *item) for item in amounts.items()]
        else:
            every, part = (AGGREGATES, "aggregates") if kind == "member_of" else (TRAITS, "traits")
            names = set(random.sample(every, random.randint(1, 2)))
            forbidden = random.random() < 0.3
            text = f"in:{','.join(sorted(names))}"
            if forbidden and kind == "member_of":
                text = f"!{text}"
            elif forbidden:
                text = ",".join(f"!{name}" for name in sorted(names))
            tests.append(
                lambda provider, part=part, names=names, forbidden=forbidden: (
                    forbidden != bool(names.intersection(provider[part]))
                )
            )
        parameters.append(f"{kind}={text}")
    return "&".join(parameters), tests


@settings(max_examples=CLOUDS, deadline=None)
@given(st.randoms(use_true_random=False))
def test_list_has_the_providers_that_fulfil_all_conditions(random):
    api = PlacementApi()
    providers = [read(api, uuid) for uuid in fill(api, random)]
    if not providers:
        return
    processes = (api, PlacementApi(api.store))  # the second began with a snapshot
    for process, _ in itertools.product(processes, range(QUERIES // 2)):
        query, tests = conditions(random, providers)
        listed = process.call("GET", f"/resource_providers?{query}").json["resource_providers"]
        expected = [provider["document"] for provider in providers if all(test(provider) for test in tests)]
        assert sorted(listed, key=str) == sorted(expected, key=str), query
