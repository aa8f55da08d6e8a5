# SPDX-License-Identifier: Apache-2.0
"""Churn: the configured share of nodes changes, seeded, and the host never reserves memory of guests."""

from collections.abc import Callable

from compute_agent.attempt import Attempt, Stage
from compute_agent.resources.nodes import Node, NodeShape
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.simulator.load import CPU_PERCENT, SimulatedLoad
from compute_agent.simulator.profile import HostProfile
from rpcapi.resources.inventory import Inventory

MEMORY = Inventory(10_000, reserved=500)
SHAPE = NodeShape("test", {"VCPU": Inventory(8), "MEMORY_MB": MEMORY})
NODES = tuple(Node(f"alpha/node{number}", SHAPE, None) for number in range(50))
ROUNDS = 100


def make_load(
    profile: HostProfile, host: str = "alpha", nodes: tuple[Node, ...] = NODES
) -> tuple[SimulatedLoad, ResourceTracker]:
    tracker = ResourceTracker(nodes)
    return SimulatedLoad(host, nodes, tracker, lambda: profile), tracker


def readings(load: SimulatedLoad) -> dict[str, float]:
    return {node.name: load.metrics(node.name)[CPU_PERCENT] for node in NODES}


def changes(read: Callable[[], dict[str, object]], load: SimulatedLoad, rounds: int = ROUNDS) -> int:
    """Return the number of changes of nodes between consecutive intervals."""
    count, before = 0, read()
    for _ in range(rounds):
        load.advance_interval()
        after = read()
        count += sum(after[name] != before[name] for name in after)
        before = after
    return count


def test_without_churn_there_are_no_metrics_and_no_changes() -> None:
    load, tracker = make_load(HostProfile(external_use_rate=1.0, external_use_max=1.0))
    for _ in range(3):
        load.advance_interval()
    assert all(load.metrics(node.name) == {} for node in NODES)
    assert all(tracker.inventories(node.name) is SHAPE.inventories for node in NODES)


def test_configured_share_of_nodes_changes_per_interval() -> None:
    load, _ = make_load(HostProfile(churn=0.1))
    load.advance_interval()
    assert len(readings(load)) == len(NODES)
    share = changes(lambda: dict(readings(load)), load) / (ROUNDS * len(NODES))
    assert 0.08 < share < 0.12
    assert all(0 <= percent <= 100 for percent in readings(load).values())


def test_load_depends_on_seed_and_host() -> None:
    def readings_of(profile: HostProfile, host: str = "alpha") -> list[dict[str, float]]:
        load, _ = make_load(profile, host)
        count = []
        for _ in range(5):
            load.advance_interval()
            count.append(readings(load))
        return count

    first = readings_of(HostProfile(churn=0.3))
    assert readings_of(HostProfile(churn=0.3)) == first
    assert readings_of(HostProfile(churn=0.3, seed="other")) != first
    assert readings_of(HostProfile(churn=0.3), host="beta") != first


def test_some_changes_move_the_reserved_memory() -> None:
    load, tracker = make_load(HostProfile(churn=0.5, external_use_rate=0.4, external_use_max=0.1))
    load.advance_interval()

    def reserved() -> dict[str, object]:
        return {node.name: tracker.inventories(node.name)["MEMORY_MB"].reserved for node in NODES}

    share = changes(reserved, load) / (ROUNDS * len(NODES))
    assert 0.16 < share < 0.24
    assert all(500 <= amount <= 1500 for amount in reserved().values())  # type: ignore[operator]
    assert tracker.inventories("alpha/node0")["VCPU"] == Inventory(8)


def test_memory_of_guests_is_never_reserved() -> None:
    # given a node with all memory but 100 MiB used by guests
    node = NODES[0]
    load, tracker = make_load(HostProfile(churn=1.0, external_use_rate=1.0, external_use_max=0.5), nodes=(node,))
    attempt = Attempt("a", 1, Stage.SPAWNED, 0, allocations={node.name: {"MEMORY_MB": MEMORY.capacity - 100}})
    tracker.hold(attempt)
    for _ in range(50):
        load.advance_interval()
        assert tracker.excess() == {}
    # when the guests have ended, it may be reserved
    tracker.drop(attempt.ref)
    for _ in range(50):
        load.advance_interval()
    assert tracker.inventories(node.name)["MEMORY_MB"].reserved > 600


def test_reserved_memory_reduces_admission() -> None:
    _, tracker = make_load(HostProfile())
    assert tracker.reserve("alpha/node0", "MEMORY_MB", 9_000)
    assert tracker.misfit({"alpha/node0": {"MEMORY_MB": 1_001}}) is not None
    assert tracker.misfit({"alpha/node0": {"MEMORY_MB": 1_000}}) is None
    assert tracker.misfit({"alpha/node1": {"MEMORY_MB": 9_500}}) is None


def test_reserved_memory_does_not_exceed_the_total() -> None:
    whole = (Node("alpha/node0", NodeShape("full", {"MEMORY_MB": Inventory(100, 100, allocation_ratio=0.0)}), None),)
    load, tracker = make_load(HostProfile(churn=1.0, external_use_rate=1.0, external_use_max=1.0), nodes=whole)
    for _ in range(5):
        load.advance_interval()
    assert tracker.inventories("alpha/node0")["MEMORY_MB"].reserved == 100


def test_nodes_without_memory_change_only_metrics() -> None:
    bare = (Node("alpha/node0", NodeShape("bare", {"VCPU": Inventory(8)}), None),)
    load, tracker = make_load(HostProfile(churn=1.0, external_use_rate=1.0, external_use_max=0.5), nodes=bare)
    for _ in range(3):
        load.advance_interval()
    assert load.metrics("alpha/node0").keys() == {CPU_PERCENT}
    assert tracker.inventories("alpha/node0") is bare[0].shape.inventories
