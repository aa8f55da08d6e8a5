# SPDX-License-Identifier: Apache-2.0
"""The resource tracker against a reference model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.resources.nodes import Node, NodeShape
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from rpcapi.resources.inventory import Inventory
from tests.support.agent.machines import NODE, intent, node

MB_2 = "CUSTOM_MEMORY_PAGES_2048KB"


SHAPE = NodeShape(
    "test",
    {
        "VCPU": Inventory(10, allocation_ratio=1.15),
        "MEMORY_MB": Inventory(4096, reserved=96, min_unit=500, step_size=500),
        "DISK_GB": Inventory(100, max_unit=60),
    },
)
NAMES = ["alpha/node0", "alpha/node1"]


def make_tracker() -> ResourceTracker:
    return ResourceTracker(Node(name, SHAPE, None) for name in NAMES)


def attempt(number: int, name: str, amounts: dict[str, int]) -> Attempt:
    return Attempt(str(number), 1, Stage.INTENT, 0, name=name, allocations={name: amounts})


def oracle(attempts: list[Attempt], name: str, amounts: dict[str, int]) -> bool:
    limits = {"VCPU": (11, 1, 10**9, 1), "MEMORY_MB": (4000, 500, 10**9, 500), "DISK_GB": (100, 1, 60, 1)}
    for resource_class, amount in amounts.items():
        capacity, least, most, step = limits[resource_class]
        used = sum(candidate.allocations.get(name, {}).get(resource_class, 0) for candidate in attempts)
        if used + amount > capacity or not least <= amount <= most or amount % step:
            return False
    return True


AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "VCPU": st.integers(0, 13),
        "MEMORY_MB": st.sampled_from([0, 250, 500, 1000, 1500, 4500]),
        "DISK_GB": st.integers(0, 70),
    },
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), AMOUNTS, st.integers(0, 10)), max_size=30))
def test_tracker_admits_like_the_reference_model(moves: list[tuple[str, dict[str, int], int]]) -> None:
    tracker, attempts = make_tracker(), list[Attempt]()
    for number, (name, amounts, drop) in enumerate(moves):
        candidate = attempt(number, name, amounts)
        admitted = tracker.misfit(candidate.allocations) is None
        assert admitted == oracle(attempts, name, amounts)
        if admitted:
            tracker.hold(candidate)
            tracker.hold(candidate)
            attempts.append(candidate)
        if drop < len(attempts):
            tracker.drop(attempts[drop].ref)
            tracker.drop(attempts.pop(drop).ref)
        assert not tracker.excess()
        for provider in NAMES:
            for resource_class in SHAPE.inventories:
                used = sum(candidate.allocations.get(provider, {}).get(resource_class, 0) for candidate in attempts)
                assert tracker.used(provider).get(resource_class, 0) == used
            assert tracker.instances()[provider] == sum(provider in candidate.allocations for candidate in attempts)


def test_misfit_names_provider_and_class() -> None:
    tracker = make_tracker()
    tracker.hold(attempt(1, NAMES[0], {"VCPU": 8}))
    assert tracker.misfit({NAMES[0]: {"VCPU": 4}}) == "provider alpha/node0 cannot provide 4 VCPU: 8 of 11 are in use"
    assert tracker.misfit({NAMES[0]: {"VGPU": 1}}) == "provider alpha/node0 has no VGPU"
    assert tracker.misfit({"alpha/node7": {"VCPU": 1}}) == "there is no provider alpha/node7 on this host"


def test_excess_is_returned_by_provider_and_class() -> None:
    tracker = make_tracker()
    tracker.hold(attempt(1, NAMES[0], {"VCPU": 14, "DISK_GB": 3, "VGPU": 1}))
    tracker.hold(attempt(2, "alpha/removed", {"VCPU": 1}))
    assert tracker.excess() == {NAMES[0]: {"VCPU": 3, "VGPU": 1}, "alpha/removed": {"VCPU": 1}}
    tracker.drop(AttemptRef("1", 1))
    tracker.drop(AttemptRef("2", 1))
    assert tracker.excess() == {}


def test_allocations_at_other_hosts_are_ignored() -> None:
    tracker = ResourceTracker([node()])
    admitted = tracker.admit(
        Attempt("a", 1, Stage.INTENT, 0, name=NODE, allocations={NODE: {"DISK_GB": 1}, "pool1": {"DISK_GB": 10**6}}),
        BuildRequirements(),
    )
    assert isinstance(admitted, Attempt)
    tracker.hold(admitted)
    assert tracker.excess() == {}
    assert tracker.used(NODE) == {"DISK_GB": 1}


@pytest.mark.parametrize(
    ("amounts_by_path", "why"),
    [
        ({"numa0": {"PCPU": 7}}, "provider alpha/node0/numa0 cannot provide 7 PCPU: 0 of 6 are in use"),
        ({"numa2": {"PCPU": 1}}, "there is no provider alpha/node0/numa2 on this host"),
        ({"numa0": {MB_2: 3}}, f"provider alpha/node0/numa0 cannot provide 3 {MB_2}: 0 of 1024 are in use"),
        ({"numa0": {"VCPU": 3}}, "provider alpha/node0/numa0 cannot provide 3 VCPU: 0 of 4 are in use"),
    ],
)
def test_amounts_are_checked_per_provider(amounts_by_path: dict[str, dict[str, int]], why: str) -> None:
    assert ResourceTracker([node()]).admit(intent("a", **amounts_by_path), BuildRequirements()) == why
