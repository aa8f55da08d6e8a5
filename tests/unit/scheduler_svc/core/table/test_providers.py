# SPDX-License-Identifier: Apache-2.0
"""All providers of one partition, as rows and masks."""

import pytest

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.providers import ProviderRow
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import child_provider, node, provider

OWNED = {"owner": "api", "kind": "provider", "name": "pool", "changed_ms": 5}
NODES = {
    "h1/n1": node({"VCPU": 8}, ["CUSTOM_A"]),
    "h1/n1/numa0": child_provider("h1/n1", "h1/n1", {"PCPU": 4}, ["CUSTOM_B"]),
    "@api/1": node({"DISK_GB": 10}) | OWNED,
    "@api/2": child_provider("h1/n1/numa0", "h1/n1", {"CUSTOM_X": 1}) | OWNED | {"name": "card"},
}


@pytest.fixture
def table():
    """A table whose second partition has the providers; the first has another host."""
    table = HostTable(["p", "q"])
    table.load(hosts.snapshot({"other": node(traits=["CUSTOM_C"])}), 0)
    table.load(hosts.snapshot(NODES), 1)
    return table


def ids(table, select):
    with table.reading_providers(1) as providers:
        return [row.id for row in providers.rows(select(providers))]


def test_rows_of_both_owners_have_their_places(table):
    with table.reading_providers(1) as providers:
        rows = list(providers.rows(providers.present))
    assert rows == [
        ProviderRow("h1/n1", "h1/n1", None, "h1/n1", None),
        ProviderRow("@api/1", "pool", None, "@api/1", 5),
        ProviderRow("h1/n1/numa0", "h1/n1/numa0", "h1/n1", "h1/n1", None),
        ProviderRow("@api/2", "card", "h1/n1/numa0", "h1/n1", 5),
    ]


def test_providers_are_found_by_id_name_and_tree(table):
    assert ids(table, lambda providers: providers.with_id("@api/2")) == ["@api/2"]
    assert ids(table, lambda providers: providers.with_id("other")) == []
    assert ids(table, lambda providers: providers.named("card")) == ["@api/2"]
    assert ids(table, lambda providers: providers.named("h1/n1/numa0")) == ["h1/n1/numa0"]
    assert ids(table, lambda providers: providers.named("@api/2")) == []
    assert ids(table, lambda providers: providers.in_tree("@api/2")) == ["h1/n1", "h1/n1/numa0", "@api/2"]
    assert ids(table, lambda providers: providers.in_tree("@api/1")) == ["@api/1"]
    assert ids(table, lambda providers: providers.in_tree("other")) == []
    assert ids(table, lambda providers: providers.matching(lambda columns: columns.has_all(["CUSTOM_B"]))) == [
        "h1/n1/numa0"
    ]


def test_names_in_use_are_those_of_existing_providers_of_the_partition(table):
    with table.reading_providers(1) as providers:
        assert providers.traits_in_use() == {"CUSTOM_A", "CUSTOM_B"}
        assert providers.classes_in_use() == {"VCPU", "PCPU", "DISK_GB", "CUSTOM_X"}
    table.apply(LogEntry(101, "gone", ["h1/n1/numa0", "@api/1"]), 1)
    reserved = provider("h1/n1", {"inventories": {"VGPU": node({"VGPU": 0})["inventories"]["VGPU"]}, "traits": []})
    table.apply(LogEntry(102, "provider", {"h1/n1": reserved}), 1)
    with table.reading_providers(1) as providers:
        assert providers.traits_in_use() == set()
        assert providers.classes_in_use() == {"VGPU", "CUSTOM_X"}
    assert ids(table, lambda providers: providers.named("pool")) == []
    assert ids(table, lambda providers: providers.with_id("h1/n1/numa0")) == []


def test_provider_that_becomes_a_root_is_found_there(table):
    moved = provider("@api/2", node({"CUSTOM_X": 1}) | OWNED | {"name": "card", "changed_ms": 9})
    table.apply(LogEntry(101, "provider", {"@api/2": moved}), 1)
    assert ids(table, lambda providers: providers.named("card")) == ["@api/2"]
    assert ids(table, lambda providers: providers.in_tree("@api/2")) == ["@api/2"]
    with table.reading_providers(1) as providers:
        assert list(providers.rows(providers.with_id("@api/2"))) == [ProviderRow("@api/2", "card", None, "@api/2", 9)]
