# SPDX-License-Identifier: Apache-2.0
"""Reports of agents beside what the Placement API made at and below their providers."""

import threading
from collections.abc import Iterable
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    ProviderChange,
    ProviderState,
    Refusal,
    RefusalKind,
    SetAggregates,
    SetTraits,
    UpdateProvider,
)
from tests.support.clouds.replica import LogFollower, check_trees
from tests.support.store.store_partition import ROOMY, StorePartition, child_stats, node_stats

CHILD, LEAF = "@api/child", "@api/leaf"


def change(partition: StorePartition, *changes: ProviderChange) -> ProviderState:
    for requested in changes:
        state = partition.store.change_provider(requested)
        assert isinstance(state, ProviderState), state
    check(partition)
    return state


def check(partition: StorePartition) -> None:
    partition.check()
    check_trees(partition.store.snapshot())


def document(partition: StorePartition, provider: str) -> Any:
    return partition.store.read_providers([provider])[provider].document


def report(partition: StorePartition, *nodes: str, traits: Iterable[str] = ()) -> None:
    """Send a full report of these nodes of h1; those with two separators are below the first part."""
    stats = {}
    for name in nodes:
        above, _, _ = name.rpartition("/")
        stats[name] = child_stats(above, {"VCPU": 1}) if above in nodes else node_stats(ROOMY, traits=list(traits))
    partition.report("h1", stats)
    check(partition)


@pytest.mark.parametrize("full", [True, False])
def test_report_leaves_aggregates_and_added_traits(partition: StorePartition, full: bool) -> None:
    report(partition, "h1", traits=["HW_A", "HW_B"])
    change(partition, SetTraits("h1", ["HW_A", "HW_B", "CUSTOM_A"], 0), SetAggregates("h1", ["a1"], 1))
    partition.report("h1", {"h1": node_stats(ROOMY, traits=["HW_B"])}, sequence=50)
    assert (document(partition, "h1")["traits"], document(partition, "h1")["aggregates"]) == (
        ["CUSTOM_A", "HW_B"],
        ["a1"],
    )
    assert partition.store.read_generations(["h1"]) == {"h1": 2}
    # given that the agent reports the added trait too for a while, or something else, then it remains an added one
    for sequence, traits in ((51, ["HW_B", "CUSTOM_A"]), (52, None), (53, ["HW_B"])):
        node = node_stats(ROOMY, traits=traits or ["HW_B", "CUSTOM_A"]) if full or traits else {"metrics": {"cpu": 1.0}}
        partition.report("h1", {"h1": node}, sequence=sequence, base=0 if full else sequence - 1, full=full)
        assert document(partition, "h1")["traits"] == ["CUSTOM_A", "HW_B"]
    assert isinstance(partition.store.change_provider(SetTraits("h1", ["CUSTOM_A"])), Refusal)
    assert change(partition, SetTraits("h1", ["HW_B"])).document["traits"] == ["HW_B"]


def test_repeated_report_changes_nothing_beside_the_api(partition: StorePartition) -> None:
    report(partition, "h1", traits=["HW_A"])
    change(partition, SetTraits("h1", ["HW_A", "CUSTOM_A"]), CreateProvider(CHILD, "c", "h1"))
    before = partition.store.snapshot()
    report(partition, "h1", traits=["HW_A"])
    assert partition.store.snapshot() == before


def test_report_under_the_name_of_an_api_provider_is_refused(partition: StorePartition) -> None:
    report(partition, "h1")
    change(partition, CreateProvider(CHILD, "h1/n1"))
    before = partition.store.snapshot()
    with pytest.raises(errors.InvalidStats, match=r"provider 'h1/n1': .*of the Placement API has this name"):
        report(partition, "h1", "h1/n1")
    assert partition.store.snapshot() == before
    change(partition, UpdateProvider(CHILD, "other"))
    report(partition, "h1", "h1/n1")


def test_dropped_node_remains_while_the_api_has_providers_below(partition: StorePartition) -> None:
    replica = LogFollower(partition)
    report(partition, "h1", "h1/n1", "h1/n1/d1", "h1/n2")
    change(partition, SetTraits("h1/n1/d1", ["CUSTOM_A"]), SetAggregates("h1/n1", ["a1"]))
    change(partition, CreateProvider(CHILD, "c", "h1/n1/d1"), CreateProvider(LEAF, "l", CHILD))
    # when the agent reports its tree no more
    report(partition, "h1")
    # then what is above the API's providers remains empty, and is the API's
    states = partition.store.read_providers(["h1/n1", "h1/n1/d1", "h1/n2", CHILD])
    assert set(states) == {"h1/n1", "h1/n1/d1", CHILD}
    assert [states[name].document["owner"] for name in ("h1/n1", "h1/n1/d1")] == ["api", "api"]
    assert [states[name].document["inventories"] for name in ("h1/n1", "h1/n1/d1")] == [{}, {}]
    assert (states["h1/n1"].document["aggregates"], states["h1/n1/d1"].document["traits"]) == (["a1"], ["CUSTOM_A"])
    assert {states[name].document["root"] for name in states} == {"h1"}
    assert partition.prepare("c1", "h1/n1").answer is Answer.REFUSED
    assert partition.store.change_provider(DeleteProvider("h1/n1")) == Refusal(RefusalKind.CHILDREN, "h1/n1")
    assert partition.store.change_provider(UpdateProvider("h1/n1", "x")) == Refusal(RefusalKind.OWNER, "h1/n1")
    replica.follow()
    replica.check()
    # when it reports a part of it again, then that is its own, with what the API wrote
    report(partition, "h1", "h1/n1", "h1/n1/d1")
    again = document(partition, "h1/n1/d1")
    assert ("owner" in again, again["traits"], again["added_traits"]) == (False, ["CUSTOM_A"], ["CUSTOM_A"])
    assert document(partition, "h1/n1")["aggregates"] == ["a1"]
    # and once nothing is below, the API may delete what remains
    report(partition, "h1")
    change(partition, *(DeleteProvider(name) for name in (LEAF, CHILD, "h1/n1/d1", "h1/n1")))
    assert set(partition.store.snapshot().providers) == {"h1"}
    replica.follow()
    replica.check()


def test_providers_of_the_api_follow_their_node_to_another_root(partition: StorePartition) -> None:
    report(partition, "h1/n1")
    change(partition, CreateProvider(CHILD, "c", "h1/n1"), CreateProvider(LEAF, "l", CHILD))
    partition.report("h1", {"h1": node_stats(ROOMY), "h1/n1": child_stats("h1", {"VCPU": 1})})
    assert (document(partition, CHILD)["root"], document(partition, LEAF)["root"]) == ("h1", "h1")
    check(partition)


def test_host_with_the_apis_providers_below_is_not_removed(partition: StorePartition) -> None:
    partition.add_host("h1")
    change(partition, CreateProvider(CHILD, "c", "h1"))
    before = partition.store.snapshot()
    with pytest.raises(errors.Conflict, match="of the Placement API are below its nodes"):
        partition.store.remove("h1")
    assert partition.store.snapshot() == before
    change(partition, DeleteProvider(CHILD))
    partition.store.remove("h1")
    assert partition.store.snapshot().providers == {}


def test_reports_and_changes_of_the_api_at_the_same_time_leave_a_tree(partition: StorePartition) -> None:
    # given an agent that drops a node and reports it again, and clients that add to it and delete
    report(partition, "h1", "h1/n1")
    errors_seen: list[Exception] = []

    def repeat(act: Any) -> None:
        try:
            for number in range(12):
                act(number)
        except Exception as error:
            errors_seen.append(error)

    def agent(number: int) -> None:
        nodes = {"h1": node_stats(ROOMY, traits=[f"HW_{number}"])}
        partition.report("h1", nodes | ({"h1/n1": child_stats("h1", {"VCPU": 1})} if number % 2 else {}))

    def client(name: str) -> Any:
        def act(number: int) -> None:
            partition.store.change_provider(CreateProvider(f"@api/{name}{number}", f"{name}{number}", "h1/n1"))
            partition.store.change_provider(SetTraits("h1/n1", [f"CUSTOM_{name}"]))
            if number % 3:
                partition.store.change_provider(DeleteProvider(f"@api/{name}{number}"))

        return act

    threads = [threading.Thread(target=repeat, args=(act,)) for act in (agent, client("A"), client("B"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors_seen == []
    check(partition)
