# SPDX-License-Identifier: Apache-2.0
"""Hosts as the dashboard lists them: their trees, states, zones and aggregates."""

from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi.dashboard import heat_map, host_list
from rpcapi.dashboard.host_list import Amounts

ALIVE = {"binary": "gantt-compute", "alive": True, "enabled": True, "audited": True}


def state(name: str, document: dict[str, Any], partition: str = "default") -> SimpleNamespace:
    return SimpleNamespace(name=name, document=document, partition=partition)


def node(name: str, vcpus: int, used: int = 0, /, **fields: Any) -> SimpleNamespace:
    inventories = {"VCPU": {"capacity": vcpus}}
    return state(name, {"root": name, "inventories": inventories, "used": {"VCPU": used}, **fields})


class Listing:
    """A session whose scheduler has these documents, by namespace; counts the listings."""

    def __init__(self, **documents: list[Any]) -> None:
        self.documents = documents
        self.listings = 0
        self.scheduler = SimpleNamespace(list_host_state=None)

    def list_all(self, method: Any, items: str, namespace: str) -> list[Any]:
        self.listings += 1
        return self.documents.get(namespace, [])


def partitions(position: int = 1) -> SimpleNamespace:
    return SimpleNamespace(names=["default"], epochs=[5], positions=[position])


def read(listing: Listing, **choices: Any) -> host_list.HostList:
    return host_list.read(listing, partitions(**choices), None)


def test_amounts_of_a_host_are_those_of_its_whole_tree() -> None:
    child = state(
        "h1/n1/numa0",
        {"root": "h1/n1", "parent": "h1/n1", "inventories": {"PCPU": {"capacity": 8}, "VCPU": {"capacity": 2}}},
    )
    listed = read(Listing(compute=[node("h1/n1", 4, 1), child], service=[state("h1", ALIVE)]))

    (host,) = listed.hosts
    assert host.amounts == {"VCPU": Amounts(1, 6), "PCPU": Amounts(0, 8)}
    assert [provider.id for provider in listed.providers["h1/n1"]] == ["h1/n1", "h1/n1/numa0"]
    assert listed.classes() == ["VCPU", "PCPU"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "up"),
        ({"enabled": False}, "disabled"),
        ({"audited": False}, "awaiting audit"),
        ({"audited": False, "enabled": False}, "awaiting audit"),
        ({"duplicate_ms": 1}, "duplicate identity"),
        ({"alive": False, "audited": False}, "down"),
    ],
)
def test_state_is_the_worst_that_holds(changes: dict[str, Any], shown: str) -> None:
    assert host_list.state_of({**ALIVE, **changes}) == shown


def test_node_without_a_service_is_down() -> None:
    (host,) = read(Listing(compute=[node("h1/n1", 4)])).hosts

    assert host.state == "down"


def test_provider_of_the_api_is_up_and_shown_by_its_name() -> None:
    identity = "@api/8f1f1bd1-3c9f-4b7e-9c36-0d1d8c2b5b51"
    (host,) = read(Listing(compute=[node(identity, 4, name="storage", owner="api")])).hosts

    assert (host.name, host.state, host.service_host) == ("storage", "up", "@api")


def test_child_whose_root_is_gone_is_left_out() -> None:
    orphan = state("h1/n1/numa0", {"root": "h1/n1", "parent": "h1/n1", "inventories": {}})

    assert not read(Listing(compute=[orphan])).hosts


def test_zones_and_aggregates_are_those_of_node_and_service_host() -> None:
    aggregates = [
        state("a", {"id": "a", "name": "gold", "hosts": ["h1"], "metadata": {"availability_zone": "east"}}),
        state("b", {"id": "b", "hosts": ["h1/n1"], "metadata": {}}),
        state("c", {"id": "c", "hosts": ["h1"], "metadata": {}, "deleted": True}),
    ]
    listed = read(Listing(compute=[node("h1/n1", 4), node("h2/n1", 4)], aggregate=aggregates))

    assert [(host.zones, host.aggregates) for host in listed.hosts] == [(["east"], ["b", "gold"]), ([], [])]
    assert (listed.zones(), listed.aggregates()) == (["east"], ["b", "gold"])
    assert [host.name for host in listed.select(zone="east", text="H1")] == ["h1/n1"]
    assert not listed.select(aggregate="gold", text="h2")


def test_hosts_are_read_again_after_a_change_only() -> None:
    listing = Listing(compute=[node("h1/n1", 4)])
    first = host_list.read(listing, partitions(1), None)
    listings = listing.listings

    assert host_list.read(listing, partitions(1), first) is first
    assert listing.listings == listings
    second = host_list.read(listing, partitions(2), first)
    assert second is not first
    assert second.version != first.version


def test_total_counts_only_hosts_that_have_the_class() -> None:
    listed = read(Listing(compute=[node("h1/n1", 4, 1), node("h2/n1", 8, 2)]))

    assert host_list.total(listed.hosts, "VCPU") == Amounts(3, 12)
    assert host_list.total(listed.hosts, "PCPU") == Amounts(0, 0)


def test_heat_map_has_a_host_in_each_of_its_groups() -> None:
    aggregates = [state(name, {"id": name, "hosts": ["h1"], "metadata": {}}) for name in ("a", "b")]
    listed = read(Listing(compute=[node("h1/n1", 4, 1), node("h2/n1", 8)], aggregate=aggregates))

    document = heat_map.document(listed.hosts, "VCPU", "aggregate")

    assert document["groups"] == [
        {"name": "-", "hosts": [1]},
        {"name": "a", "hosts": [0]},
        {"name": "b", "hosts": [0]},
    ]
    assert (document["used"], document["capacity"]) == ([1, 0], [4, 8])
    assert [document["states"][number] for number in document["state"]] == ["down", "down"]
    assert heat_map.document(listed.hosts, "PCPU", "")["groups"] == [{"name": "", "hosts": [0, 1]}]
