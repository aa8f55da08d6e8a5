# SPDX-License-Identifier: Apache-2.0
"""Choice of host cells: which devices they bring into reach, and which of them come first."""

from collections.abc import Sequence

import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology
from rpcapi.resources.trees.cells import CellRules
from rpcapi.resources.trees.requirements import list_group_requirements
from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest, find_paths

NIC, GPU = "CUSTOM_NIC", "CUSTOM_GPU"
# Four cells on two sockets with a NIC each, a GPU on the last one, a NIC on no cell, and a pool of NICs elsewhere.
CELLS = (1, 2, 3, 4)
NICS = (5, 6, 7, 8)
GPU_CARD, FREE_NIC, POOL = 9, 10, 11


def rules(devices: Sequence[tuple[str, DevicePolicy]], guests: int = 2, **cell_amounts: int) -> CellRules:
    """Return the rules for a guest of some cells and devices."""
    unit = ProviderInventory(1)
    tree = ProviderTree(
        [
            Provider("h"),
            *(Provider(f"h/numa{number}", "h", {"PCPU": ProviderInventory(2)}) for number in range(4)),
            *(Provider(f"h/numa{number}/nic", f"h/numa{number}", {NIC: unit}) for number in range(4)),
            Provider("h/numa3/gpu", "h/numa3", {GPU: unit}),
            Provider("h/nic", "h", {NIC: unit}),
        ],
        [Provider("pool", None, {NIC: unit})],
    )
    guest_cells = tuple(GuestCell(number, f"_numa{number}", (), (number,)) for number in range(guests))
    near = {f"_pci{number}": policy for number, (_, policy) in enumerate(devices)}
    groups = [
        *(RequestGroup(cell.group, {"PCPU": 1}) for cell in guest_cells),
        *(RequestGroup(f"_pci{number}", {card: 1}) for number, (card, _) in enumerate(devices)),
        RequestGroup("", cell_amounts),
    ]
    host_cells = {
        f"h/numa{number}": HostCell(number, f"numa{number}", number // 2, ((2 * number,), (2 * number + 1,)))
        for number in range(4)
    }
    numa = NumaConditions(GuestTopology(guest_cells, devices=near), host_cells)
    requirements = list_group_requirements(tree, TreeRequest(groups, "none"), numa)
    ancestors = [sum(1 << number for number in path) for path in find_paths(tree)]
    servable = {group.kind: dict.fromkeys(group.options, 1) for group in requirements}
    return CellRules(tree, ancestors, requirements, numa, servable)


@pytest.mark.parametrize(
    ("policy", "reach"),
    [
        (DevicePolicy.REQUIRED, {NICS[0], POOL}),
        (DevicePolicy.SOCKET, {NICS[0], NICS[1], POOL}),
        (DevicePolicy.LEGACY, {NICS[0], FREE_NIC, POOL}),
    ],
)
def test_policy_decides_which_devices_are_near(policy: DevicePolicy, reach: set[int]) -> None:
    (mask,) = rules([(NIC, policy)]).reach([CELLS[0]]).values()
    assert {number for number in (*NICS, FREE_NIC, POOL) if mask >> number & 1} == reach


def test_preferred_device_may_be_anywhere() -> None:
    assert rules([(NIC, DevicePolicy.PREFERRED)]).reach([CELLS[0]]) == {}


def test_cells_with_rare_devices_come_first() -> None:
    devices = [(NIC, DevicePolicy.REQUIRED), (GPU, DevicePolicy.REQUIRED)]
    assert rules(devices).sort_cells(CELLS) == (4, 1, 2, 3)
    assert rules(devices[:1]).sort_cells(CELLS) == CELLS


@pytest.mark.parametrize(
    ("cells", "more", "free", "may_reach"),
    [
        ((), 2, (1, 2, 3, 4), True),
        ((1,), 1, (2, 3, 4), True),
        ((1,), 1, (2, 3), False),  # no GPU
        ((1, 2), 0, (), False),
        ((4,), 1, (1, 2), True),
        ((4, 1), 0, (), True),
    ],
)
def test_devices_out_of_reach_end_the_choice(
    cells: tuple[int, ...], more: int, free: tuple[int, ...], may_reach: bool
) -> None:
    devices = [(NIC, DevicePolicy.REQUIRED)] * 3 + [(GPU, DevicePolicy.REQUIRED)]  # one NIC is the pool's
    assert rules(devices).may_reach_devices(cells, more, free) is may_reach


def test_one_more_cell_does_not_bring_the_devices_of_two() -> None:
    both = rules([(NIC, DevicePolicy.REQUIRED)] * 3 + [(GPU, DevicePolicy.REQUIRED)])
    assert not both.may_reach_devices((1,), 1, (2, 3))
    assert not rules([(NIC, DevicePolicy.REQUIRED)] * 4).may_reach_devices((1,), 1, (2, 3, 4))


def test_cells_of_one_socket_bring_its_devices_once() -> None:
    devices = [(NIC, DevicePolicy.SOCKET)] * 4  # one of them is the pool's
    assert not rules(devices).may_reach_devices((1, 2), 0, ())
    assert rules(devices).may_reach_devices((1, 3), 0, ())


def test_only_what_the_rules_tell_apart_makes_cells_differ() -> None:
    assert len(set(rules([(NIC, DevicePolicy.REQUIRED)]).symmetry_keys.values())) == 1
    assert len(set(rules([(NIC, DevicePolicy.SOCKET)]).symmetry_keys.values())) == 2
    assert len(set(rules([(NIC, DevicePolicy.REQUIRED)], PCPU=1).symmetry_keys.values())) == 4


def test_cells_are_contended_if_other_groups_may_use_them() -> None:
    assert not rules([(NIC, DevicePolicy.REQUIRED)]).is_contended
    assert rules([(NIC, DevicePolicy.REQUIRED)], PCPU=1).is_contended
