# SPDX-License-Identifier: Apache-2.0
"""What a change of a provider writes, on providers in a dictionary."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Amounts
from scheduler_svc.store.providers import planner
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    Document,
    ProviderChange,
    ProviderPlan,
    ProviderReads,
    Refusal,
    RefusalKind,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
    UpdateProvider,
)
from scheduler_svc.store.providers.trees import MAX_MOVED

ROOT, CHILD, LEAF, OTHER = "@api/root", "@api/child", "@api/leaf", "@api/other"
HOST = {"schema": 1, "id": "h1", "root": "h1", "parent": None, "inventories": {}, "traits": ["HW_A"], "version": 7}


@dataclass
class Providers:
    """Stored providers, to which plans are applied."""

    documents: dict[str, Document] = field(default_factory=lambda: {"h1": HOST})
    generations: dict[str, int] = field(default_factory=dict)
    amounts: dict[str, Amounts] = field(default_factory=dict)

    def generation(self, provider: str) -> int:
        return self.generations.get(provider, 0)

    def reads(self) -> ProviderReads:
        children: dict[str, list[str]] = {}
        for name, document in sorted(self.documents.items()):
            if document["parent"] is not None:
                children.setdefault(document["parent"], []).append(name)
        api_names = {document["name"]: key for key, document in self.documents.items() if "name" in document}
        return ProviderReads(0, self.generation, self.documents, self.amounts, children, api_names)

    def plan(self, change: ProviderChange, clock_ms: int = 5) -> ProviderPlan | Refusal:
        return planner.plan(change, self.reads(), clock_ms)

    def apply(self, change: ProviderChange, clock_ms: int = 5) -> ProviderPlan:
        planned = self.plan(change, clock_ms)
        assert isinstance(planned, ProviderPlan)
        for name, document in planned.documents.items():
            if document is None:
                del self.documents[name]
            else:
                self.documents[name] = document
        self.generations[planned.provider] = self.generation(planned.provider) + planned.bump
        return planned


@pytest.fixture
def providers() -> Providers:
    """h1, an agent's; root with child with leaf, and other, of the API."""
    stored = Providers()
    for provider, parent in ((ROOT, None), (CHILD, ROOT), (LEAF, CHILD), (OTHER, None)):
        stored.apply(CreateProvider(provider, provider.removeprefix("@api/"), parent))
    return stored


def refusal(planned: ProviderPlan | Refusal) -> tuple[RefusalKind, str]:
    assert isinstance(planned, Refusal)
    return planned.kind, planned.provider


def test_new_provider_has_its_place_and_nothing_else(providers: Providers) -> None:
    planned = providers.apply(CreateProvider("@api/new", "a name ☃", "h1"), clock_ms=9)
    assert planned.documents == {
        "@api/new": {
            "schema": 1,
            "id": "@api/new",
            "owner": "api",
            "name": "a name ☃",
            "host": "@api",
            "kind": "provider",
            "root": "h1",
            "parent": "h1",
            "inventories": {},
            "traits": [],
            "created_ms": 9,
            "changed_ms": 9,
            "version": 1,
        }
    }
    assert (planned.names, planned.linked, planned.stale_roots) == (
        {"a name ☃": "@api/new"},
        {"@api/new": "h1"},
        ["h1"],
    )
    assert not planned.bump and planned.has_new_inventories


@pytest.mark.parametrize(
    ("change", "kind", "subject"),
    [
        (CreateProvider(ROOT, "x"), RefusalKind.EXISTS, ROOT),
        (CreateProvider("@api/new", "leaf"), RefusalKind.NAME, LEAF),
        (CreateProvider("@api/new", "h1"), RefusalKind.NAME, "h1"),
        (CreateProvider("@api/new", "x", "@api/gone"), RefusalKind.PARENT, "@api/gone"),
        (UpdateProvider("@api/gone", "x"), RefusalKind.PROVIDER, "@api/gone"),
        (UpdateProvider("h1", "x"), RefusalKind.OWNER, "h1"),
        (UpdateProvider(ROOT, "h1"), RefusalKind.NAME, "h1"),
        (UpdateProvider(ROOT, parent="@api/gone"), RefusalKind.PARENT, "@api/gone"),
        (UpdateProvider(ROOT, parent=ROOT), RefusalKind.LOOP, ROOT),
        (UpdateProvider(ROOT, parent=LEAF), RefusalKind.LOOP, ROOT),
        (DeleteProvider("@api/gone"), RefusalKind.PROVIDER, "@api/gone"),
        (DeleteProvider("h1"), RefusalKind.OWNER, "h1"),
        (DeleteProvider(CHILD), RefusalKind.CHILDREN, CHILD),
        (SetInventories("h1", {}), RefusalKind.OWNER, "h1"),
        (SetInventory(ROOT, "VCPU", Inventory(1)), RefusalKind.INVENTORY, ROOT),
        (SetInventory(ROOT, "VCPU", None), RefusalKind.INVENTORY, ROOT),
        (SetTraits("h1", ["CUSTOM_A"]), RefusalKind.OWNER, "h1"),
    ],
)
def test_change_is_refused(providers: Providers, change: ProviderChange, kind: RefusalKind, subject: str) -> None:
    assert refusal(providers.plan(change)) == (kind, subject)


def test_moved_subtree_gets_the_new_root_and_keeps_its_own_links(providers: Providers) -> None:
    planned = providers.apply(UpdateProvider(CHILD, parent="h1"))
    assert {name: document["root"] for name, document in planned.documents.items() if document} == {
        CHILD: "h1",
        LEAF: "h1",
    }
    assert (providers.documents[CHILD]["parent"], providers.documents[LEAF]["parent"]) == ("h1", CHILD)
    assert (planned.linked, planned.unlinked) == ({CHILD: "h1"}, {CHILD: ROOT})
    assert planned.stale_roots == [ROOT, "h1"] and not planned.bump
    planned = providers.apply(UpdateProvider(CHILD, parent=None))
    assert (providers.documents[LEAF]["root"], planned.linked, planned.unlinked) == (CHILD, {}, {CHILD: "h1"})


def test_move_within_a_tree_changes_one_document(providers: Providers) -> None:
    planned = providers.apply(UpdateProvider(LEAF, parent=ROOT))
    assert list(planned.documents) == [LEAF] and planned.stale_roots == [ROOT]


def test_too_large_subtree_is_not_moved(providers: Providers) -> None:
    for number in range(MAX_MOVED):
        providers.apply(CreateProvider(f"@api/{number}", f"n{number}", ROOT))
    with pytest.raises(errors.InvalidRequest, match="'@api/root' has more than 999 providers below it"):
        providers.plan(UpdateProvider(ROOT, parent="h1"))


def test_rename_gives_the_former_name_up(providers: Providers) -> None:
    planned = providers.apply(UpdateProvider(LEAF, "twig"))
    assert planned.names == {"leaf": None, "twig": LEAF}
    assert (providers.documents[LEAF]["name"], providers.documents[LEAF]["version"]) == ("twig", 2)
    assert not planned.stale_roots and not planned.bump
    assert providers.plan(UpdateProvider(LEAF, "twig", CHILD)) == ProviderPlan(LEAF)


def test_deleted_provider_gives_up_its_name_and_its_link(providers: Providers) -> None:
    planned = providers.apply(DeleteProvider(LEAF))
    assert (planned.names, planned.unlinked) == ({"leaf": None}, {LEAF: CHILD})
    providers.amounts[CHILD] = {"VCPU": 1, "DISK_GB": 0}
    assert providers.plan(DeleteProvider(CHILD)) == Refusal(RefusalKind.IN_USE, CHILD, ["VCPU"])


def test_inventories_are_stored_with_their_capacity(providers: Providers) -> None:
    huge = Inventory(2**31 - 1, allocation_ratio=3.4e38)
    planned = providers.apply(SetInventories(ROOT, {"VCPU": Inventory(100, allocation_ratio=1.15), "DISK_GB": huge}))
    stored = providers.documents[ROOT]["inventories"]
    assert (stored["VCPU"]["capacity"], stored["DISK_GB"]["capacity"]) == (115, 2**53 - 1)
    assert planned.bump and planned.has_new_inventories and not planned.stale_roots


def test_only_removed_classes_must_be_idle(providers: Providers) -> None:
    providers.apply(SetInventories(ROOT, {name: Inventory(4) for name in ("VCPU", "DISK_GB", "PCPU")}))
    providers.amounts[ROOT] = {"VCPU": 4, "PCPU": 1}
    providers.apply(SetInventories(ROOT, {"VCPU": Inventory(1), "PCPU": Inventory(1)}, generation=1))
    assert providers.plan(SetInventories(ROOT, {})) == Refusal(RefusalKind.IN_USE, ROOT, ["PCPU", "VCPU"])
    assert providers.plan(SetInventory(ROOT, "VCPU", None)) == Refusal(RefusalKind.IN_USE, ROOT, ["VCPU"])


def test_one_class_is_added_replaced_and_removed(providers: Providers) -> None:
    totals: list[Mapping[str, int]] = []
    for change in (
        SetInventory(ROOT, "VCPU", Inventory(1), is_new=True),
        SetInventory(ROOT, "PCPU", Inventory(2), is_new=True),
        SetInventory(ROOT, "VCPU", Inventory(3), generation=2),
        SetInventory(ROOT, "PCPU", None),
    ):
        assert providers.apply(change).bump
        stored = providers.documents[ROOT]["inventories"]
        totals.append({name: inventory["total"] for name, inventory in stored.items()})
    assert totals == [{"VCPU": 1}, {"VCPU": 1, "PCPU": 2}, {"VCPU": 3, "PCPU": 2}, {"VCPU": 3}]
    assert providers.plan(SetInventory(ROOT, "VCPU", Inventory(1), is_new=True)) == Refusal(
        RefusalKind.EXISTS, ROOT, ["VCPU"]
    )


@pytest.mark.parametrize(
    "change",
    [
        SetInventories(ROOT, {}, 4),
        SetInventory(ROOT, "VCPU", Inventory(1), 4),
        SetTraits(ROOT, [], 4),
        SetAggregates(ROOT, [], 4),
        SetTraits("h1", ["HW_A", "CUSTOM_A"], 4),
    ],
)
def test_old_generation_is_refused_with_both_numbers(providers: Providers, change: Any) -> None:
    providers.generations[change.provider] = 5
    planned = providers.plan(change)
    assert planned == Refusal(RefusalKind.GENERATION, change.provider, (), 4, 5)


def test_traits_bump_only_where_they_change(providers: Providers) -> None:
    planned = providers.apply(SetTraits(ROOT, ["CUSTOM_B", "CUSTOM_A", "CUSTOM_B"], 0))
    assert (providers.documents[ROOT]["traits"], planned.bump) == (["CUSTOM_A", "CUSTOM_B"], True)
    assert planned.stale_roots == [ROOT]
    assert providers.plan(SetTraits(ROOT, ["CUSTOM_A", "CUSTOM_B"], 1)) == ProviderPlan(ROOT)


def test_traits_beside_those_of_an_agent_are_stored_apart(providers: Providers) -> None:
    assert providers.apply(SetTraits("h1", ["HW_A", "CUSTOM_A"])).bump
    document = providers.documents["h1"]
    assert document["traits"] == ["CUSTOM_A", "HW_A"]
    assert (document["added_traits"], document["reported_traits"]) == (["CUSTOM_A"], ["HW_A"])
    assert "changed_ms" not in document
    # given a trait that the agent reports too by now, it remains an added one
    providers.documents["h1"] = {**document, "reported_traits": ["CUSTOM_A", "HW_A"]}
    providers.apply(SetTraits("h1", ["HW_A", "CUSTOM_A", "CUSTOM_B"]))
    assert providers.documents["h1"]["added_traits"] == ["CUSTOM_A", "CUSTOM_B"]
    # and an agent's trait that a client has read does not become one
    providers.documents["h1"] = {**document, "added_traits": ["CUSTOM_A"]}
    providers.apply(SetTraits("h1", ["HW_A"]))
    assert providers.documents["h1"]["traits"] == ["HW_A"] and "added_traits" not in providers.documents["h1"]


def test_aggregates_bump_only_with_a_generation(providers: Providers) -> None:
    assert providers.plan(SetAggregates(ROOT, [])) == ProviderPlan(ROOT)
    planned = providers.apply(SetAggregates(ROOT, ["b", "a", "b"]))
    assert (providers.documents[ROOT]["aggregates"], planned.bump, planned.stale_roots) == (["a", "b"], False, [ROOT])
    planned = providers.apply(SetAggregates(ROOT, ["a", "b"], generation=0))
    assert planned.bump and planned.documents and not planned.stale_roots
    providers.apply(SetAggregates("h1", ["a"], generation=0))
    assert providers.documents["h1"]["aggregates"] == ["a"]
    providers.apply(SetAggregates("h1", []))
    assert "aggregates" not in providers.documents["h1"]
