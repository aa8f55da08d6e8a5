# SPDX-License-Identifier: Apache-2.0
"""Churn: as many nodes change as is configured, by the seed, and the host never takes what its guests hold."""

from collections.abc import Callable

from compute_agent.attempt import Attempt, Stage
from compute_agent.load import CPU_PERCENT, SimulatedLoad
from compute_agent.nodes import Node, NodeShape
from compute_agent.profile import HostProfile
from compute_agent.tracker import ResourceTracker
from rpcapi.model.inventory import Inventory

MEMORY = Inventory(10_000, reserved=500)
SHAPE = NodeShape("test", {"VCPU": Inventory(8), "MEMORY_MB": MEMORY})
NODES = tuple(Node(f"alpha/node{number}", SHAPE, None) for number in range(50))
ROUNDS = 100


def made(
    profile: HostProfile, host: str = "alpha", nodes: tuple[Node, ...] = NODES
) -> tuple[SimulatedLoad, ResourceTracker]:
    tracker = ResourceTracker(nodes)
    return SimulatedLoad(host, nodes, tracker, lambda: profile), tracker


def readings(load: SimulatedLoad) -> dict[str, float]:
    return {node.name: load.metrics(node.name)[CPU_PERCENT] for node in NODES}


def changes(look: Callable[[], dict[str, object]], load: SimulatedLoad, rounds: int = ROUNDS) -> int:
    """Return how often one of the nodes was another after an interval than before it."""
    found, before = 0, look()
    for _ in range(rounds):
        load.advance_interval()
        after = look()
        found += sum(after[name] != before[name] for name in after)
        before = after
    return found


def test_without_churn_nothing_is_measured_and_nothing_changes() -> None:
    load, tracker = made(HostProfile(external_use_rate=1.0, external_use_max=1.0))
    for _ in range(3):
        load.advance_interval()
    assert all(load.metrics(node.name) == {} for node in NODES)
    assert all(tracker.inventories(node.name) is SHAPE.inventories for node in NODES)


def test_the_configured_share_of_nodes_changes_in_each_interval() -> None:
    load, _ = made(HostProfile(churn=0.1))
    load.advance_interval()
    assert len(readings(load)) == len(NODES)
    share = changes(lambda: dict(readings(load)), load) / (ROUNDS * len(NODES))
    assert 0.08 < share < 0.12
    assert all(0 <= percent <= 100 for percent in readings(load).values())


def test_the_same_seed_gives_the_same_load_and_another_or_another_host_does_not() -> None:
    def told(profile: HostProfile, host: str = "alpha") -> list[dict[str, float]]:
        load, _ = made(profile, host)
        found = []
        for _ in range(5):
            load.advance_interval()
            found.append(readings(load))
        return found

    first = told(HostProfile(churn=0.3))
    assert told(HostProfile(churn=0.3)) == first
    assert told(HostProfile(churn=0.3, seed="other")) != first
    assert told(HostProfile(churn=0.3), host="beta") != first


def test_some_changes_move_what_the_host_itself_takes_of_its_memory() -> None:
    load, tracker = made(HostProfile(churn=0.5, external_use_rate=0.4, external_use_max=0.1))
    load.advance_interval()

    def reserved() -> dict[str, object]:
        return {node.name: tracker.inventories(node.name)["MEMORY_MB"].reserved for node in NODES}

    share = changes(reserved, load) / (ROUNDS * len(NODES))
    assert 0.16 < share < 0.24
    assert all(500 <= amount <= 1500 for amount in reserved().values())  # type: ignore[operator]
    assert tracker.inventories("alpha/node0")["VCPU"] == Inventory(8)


def test_what_guests_hold_is_never_taken() -> None:
    # given a node of which guests hold all but 100
    node = NODES[0]
    load, tracker = made(HostProfile(churn=1.0, external_use_rate=1.0, external_use_max=0.5), nodes=(node,))
    held = Attempt("a", 1, Stage.SPAWNED, 0, allocations={node.name: {"MEMORY_MB": MEMORY.capacity - 100}})
    tracker.hold(held)
    for _ in range(50):
        load.advance_interval()
        assert tracker.excess() == {}
    # when they are gone, it may be
    tracker.drop(held.ref)
    for _ in range(50):
        load.advance_interval()
    assert tracker.inventories(node.name)["MEMORY_MB"].reserved > 600


def test_a_node_admits_by_what_its_host_left_of_it() -> None:
    _, tracker = made(HostProfile())
    assert tracker.reserve("alpha/node0", "MEMORY_MB", 9_000)
    assert tracker.misfit({"alpha/node0": {"MEMORY_MB": 1_001}}) is not None
    assert tracker.misfit({"alpha/node0": {"MEMORY_MB": 1_000}}) is None
    assert tracker.misfit({"alpha/node1": {"MEMORY_MB": 9_500}}) is None


def test_a_host_does_not_take_more_than_there_is() -> None:
    whole = (Node("alpha/node0", NodeShape("full", {"MEMORY_MB": Inventory(100, 100, allocation_ratio=0.0)}), None),)
    load, tracker = made(HostProfile(churn=1.0, external_use_rate=1.0, external_use_max=1.0), nodes=whole)
    for _ in range(5):
        load.advance_interval()
    assert tracker.inventories("alpha/node0")["MEMORY_MB"].reserved == 100


def test_nodes_without_memory_only_change_what_is_measured() -> None:
    bare = (Node("alpha/node0", NodeShape("bare", {"VCPU": Inventory(8)}), None),)
    load, tracker = made(HostProfile(churn=1.0, external_use_rate=1.0, external_use_max=0.5), nodes=bare)
    for _ in range(3):
        load.advance_interval()
    assert load.metrics("alpha/node0").keys() == {CPU_PERCENT}
    assert tracker.inventories("alpha/node0") is bare[0].shape.inventories
