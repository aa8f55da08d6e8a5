# SPDX-License-Identifier: Apache-2.0
"""Hosts as the dashboard lists them: their trees, states, zones and aggregates."""

from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.dashboard import host_list, host_pages
from rpcapi.dashboard.host_list import Amounts
from scheduler_svc.core.namespaces import built_in

ALIVE = {"binary": "gantt-compute", "alive": True, "enabled": True, "audited": True}


def state(name: str, document: dict[str, Any], partition: str = "default") -> SimpleNamespace:
    return SimpleNamespace(name=name, document=document, partition=partition)


def node(name: str, vcpus: int, used: int = 0, /, **fields: Any) -> SimpleNamespace:
    inventories = {"VCPU": {"capacity": vcpus}}
    return state(name, {"root": name, "inventories": inventories, "used": {"VCPU": used}, **fields})


class Listing:
    """A session whose scheduler has these documents, by namespace, in its partitions; records what was listed.

    Raises InvalidHostState for a document that no scheduler accepts.
    """

    def __init__(self, **documents: list[Any]) -> None:
        for namespace in built_in.build():
            for stored in documents.get(namespace.name, []):
                namespace.check_document(stored.name, stored.document)
        self.documents = documents
        self.listings: list[tuple[str, str]] = []
        self.away: set[str] = set()

    def list_states(self, namespace: str, partition: str) -> list[Any]:
        self.listings.append((namespace, partition))
        if partition in self.away:
            raise errors.StoreUnavailable(partition=partition, why="away")
        return [state for state in self.documents.get(namespace, []) if state.partition == partition]


def partitions(*positions: int) -> SimpleNamespace:
    partition_names = ["default", "second"][: len(positions)]
    return SimpleNamespace(names=partition_names, epochs=[5] * len(positions), positions=list(positions))


def read(listing: Listing) -> host_list.HostList:
    return host_list.read(listing, partitions(1), None)


def test_amounts_of_a_host_are_those_of_its_whole_tree() -> None:
    child = state(
        "h1/n1/numa0",
        {"root": "h1/n1", "parent": "h1/n1", "inventories": {"PCPU": {"capacity": 8}, "VCPU": {"capacity": 2}}},
    )
    listed = read(Listing(compute=[node("h1/n1", 4, 1), child], service=[state("h1", ALIVE)]))

    (host,) = listed.hosts
    assert host.amounts == {"VCPU": Amounts(1, 6), "PCPU": Amounts(0, 8)}
    assert [provider.id for provider in listed.tree(host)] == ["h1/n1", "h1/n1/numa0"]
    assert listed.classes() == ["VCPU", "PCPU"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "up"),
        ({"enabled": False}, "disabled"),
        ({"audited": False}, "awaiting audit"),
        ({"audited": False, "enabled": False}, "awaiting audit"),
        ({"duplicate_ms": 1}, "duplicate identity"),
        ({"too_old": True}, "too old"),
        ({"alive": False, "audited": False}, "down"),
        ({"binary": "gantt-scheduler", "audited": False}, "up"),
        ({"binary": "gantt-conductor", "audited": False, "enabled": False}, "disabled"),
    ],
)
def test_state_is_the_worst_that_holds(changes: dict[str, Any], shown: str) -> None:
    assert host_list.state_of({**ALIVE, **changes}) == shown
    assert shown in host_list.STATES


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
        state("a", {"name": "gold", "hosts": ["h1"], "metadata": {"availability_zone": "east"}}),
        state("b", {"hosts": ["h1/n1"]}),
        state("c", {"hosts": ["h1"], "deleted": True}),
    ]
    listed = read(Listing(compute=[node("h1/n1", 4), node("h2/n1", 4)], aggregate=aggregates))

    assert [(host.zones, host.aggregates) for host in listed.hosts] == [(["east"], ["b", "gold"]), ([], [])]
    assert (listed.zones(), listed.aggregates()) == (["east"], ["b", "gold"])
    assert [host.name for host in listed.select(zone="east", text="H1")] == ["h1/n1"]
    assert not listed.select(aggregate="gold", text="h2")


def test_hosts_are_read_again_after_a_change_and_reports_always() -> None:
    listing = Listing(compute=[node("h1/n1", 4)], service=[state("h1", {**ALIVE, "last_report_ms": 1})])
    first = host_list.read(listing, partitions(1), None)
    listing.listings.clear()
    listing.documents["service"] = [state("h1", {**ALIVE, "last_report_ms": 2})]

    second = host_list.read(listing, partitions(1), first)

    assert listing.listings == [("service", "default")]
    assert second.version == first.version
    assert second.service(second.hosts[0])["last_report_ms"] == 2
    assert host_list.read(listing, partitions(2), second).version != first.version


def test_partition_whose_store_is_away_keeps_its_hosts_and_stops_no_other() -> None:
    far = node("h2/n1", 8)
    far.partition = "second"
    listing = Listing(compute=[node("h1/n1", 4), far])
    first = host_list.read(listing, partitions(1, 1), None)
    listing.away.add("second")
    listing.documents["compute"] = [node("h1/n1", 4), node("h3/n1", 4), far]

    second = host_list.read(listing, partitions(2, 1), first)

    assert [host.name for host in second.hosts] == ["h1/n1", "h2/n1", "h3/n1"]
    assert (first.stale, second.stale) == ([], ["second"])
    listing.away.clear()
    assert host_list.read(listing, partitions(2, 1), second).stale == []


def test_failure_is_raised_where_no_host_is_known() -> None:
    listing = Listing(compute=[node("h1/n1", 4)])
    listing.away.add("default")

    with pytest.raises(errors.StoreUnavailable):
        read(listing)


def test_total_counts_only_hosts_that_have_the_class() -> None:
    listed = read(Listing(compute=[node("h1/n1", 4, 1), node("h2/n1", 8, 2)]))

    assert host_list.total(listed.hosts, "VCPU") == Amounts(3, 12)
    assert host_list.total(listed.hosts, "PCPU") == Amounts(0, 0)


def test_heat_map_has_a_host_in_each_of_its_groups() -> None:
    aggregates = [state(name, {"hosts": ["h1"]}) for name in ("a", "b")]
    listed = read(Listing(compute=[node("h1/n1", 4, 1), node("h2/n1", 8)], aggregate=aggregates))

    document = host_pages.heat_map_document(listed.hosts, "VCPU", "aggregate")

    assert document["groups"] == [
        {"name": "-", "hosts": [1]},
        {"name": "a", "hosts": [0]},
        {"name": "b", "hosts": [0]},
    ]
    assert (document["used"], document["capacity"]) == ([1, 0], [4, 8])
    assert [document["states"][number] for number in document["state"]] == ["down", "down"]
    assert host_pages.heat_map_document(listed.hosts, "PCPU", "")["groups"] == [{"name": "", "hosts": [0, 1]}]
