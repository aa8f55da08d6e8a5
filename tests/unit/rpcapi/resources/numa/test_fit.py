# SPDX-License-Identifier: Apache-2.0
"""Placement of guest cells on host cells."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import CellPlacement, fit
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology

MB_2 = "CUSTOM_MEMORY_PAGES_2048KB"


def cell(number: int, **values: Any) -> HostCell:
    """Build a cell of four cores with two threads each: the first core is shared, the others are dedicated."""
    first = 8 * number
    defaults: dict[str, Any] = {
        "cores": tuple((first + core, first + core + 4) for core in (1, 2, 3)),
        "shared": frozenset({first, first + 4}),
        "threads": 2,
        "socket": number // 2,
        "pages": {2048: 512},
    }
    return HostCell(number, f"numa{number}", **(defaults | values))


HOST = [cell(0), cell(1), cell(2)]
TWO = GuestTopology((GuestCell(0, "_numa0", (0,), (1, 2), 512), GuestCell(1, "_numa1", (3,), (4,), 512)), "mixed")
AMOUNTS = {
    "numa1": {"VCPU": 1, "PCPU": 2, MB_2: 512},
    "numa0": {"VCPU": 1, "PCPU": 2, MB_2: 512},
}
PATHS = {"_numa0": "numa1", "_numa1": "numa0"}


def test_guest_cell_is_placed_on_the_host_cell_of_its_group() -> None:
    placements = fit(HOST, TWO, PATHS, AMOUNTS)
    # the claim of the second cell has one more PCPU than the guest cell, for the emulator threads
    assert placements == [
        CellPlacement(0, 1, ((4, 1),), (5,), (3,), {2048: 256}),
        CellPlacement(1, 0, ((1, 9), (2, 13)), (), (0,), {2048: 256}),
    ]


def test_guest_without_topology_is_pinned_too() -> None:
    placements = fit(HOST, GuestTopology(), {}, {"numa2": {"PCPU": 3}, "numa0": {"VCPU": 2}, "": {"DISK_GB": 1}})
    assert placements == [CellPlacement(0, floating=(0, 1)), CellPlacement(2, None, ((0, 17), (1, 21), (2, 18)))]


@pytest.mark.parametrize(
    ("guest", "group_paths", "amounts", "why"),
    [
        (
            TWO,
            {"_numa0": "numa0", "_numa1": "numa0"},
            AMOUNTS,
            "cell 1 of the guest needs a NUMA cell of the host to itself",
        ),
        (
            TWO,
            {"_numa0": "numa0", "_numa1": ""},
            AMOUNTS,
            "cell 1 of the guest needs a NUMA cell of the host to itself",
        ),
        (TWO, PATHS, AMOUNTS | {"numa1": {"PCPU": 1}}, "2 CPUs must be pinned, but 1 PCPU are claimed"),
        (GuestTopology(), {}, {"numa0": {"PCPU": 7}}, "NUMA cell 0: 7 dedicated CPUs: too few CPUs are free"),
        (
            GuestTopology(),
            {},
            {"numa0": {"VCPU": 3}},
            "3 floating CPUs of one guest need as many shared CPUs; the cell has 2",
        ),
        (GuestTopology(), {}, {"numa0": {MB_2: 1025}}, "it has 512 free pages of 2048 kB, not 513"),
        (GuestTopology(), {}, {"numa0": {MB_2: 1026}}, "it has 512 free pages of 2048 kB, not 513"),
    ],
)
def test_refusal_contains_the_cell_and_the_reason(
    guest: GuestTopology, group_paths: dict[str, str], amounts: dict[str, dict[str, int]], why: str
) -> None:
    placements = fit(HOST, guest, group_paths, amounts)
    assert isinstance(placements, str)
    assert why in placements


@pytest.mark.parametrize(
    ("policy", "near"),
    [
        (DevicePolicy.REQUIRED, {"numa1/gpu"}),
        (DevicePolicy.SOCKET, {"numa0/gpu", "numa1/gpu"}),
        (DevicePolicy.LEGACY, {"numa1/gpu", "gpu"}),
        (DevicePolicy.PREFERRED, {"numa0/gpu", "numa1/gpu", "numa2/gpu", "gpu"}),
    ],
)
def test_device_satisfies_its_numa_policy(policy: DevicePolicy, near: set[str]) -> None:
    guest = GuestTopology((GuestCell(0, "_numa0", (0,)),), devices={"_pci0": policy})
    accepted = set()
    for path in ("numa0/gpu", "numa1/gpu", "numa2/gpu", "gpu"):
        amounts = {"numa1": {"VCPU": 1}, path: {"VGPU": 1}}
        if not isinstance(fit(HOST, guest, {"_numa0": "numa1", "_pci0": path}, amounts), str):
            accepted.add(path)
    assert accepted == near


def test_cells_placements_and_topologies_are_read_back() -> None:
    for host_cell in (cell(3), cell(0, pinned=frozenset({1, 5}), used_pages={2048: 7}), HostCell(0, "numa0")):
        read_back = HostCell.from_dict(host_cell.as_dict())
        assert replace(read_back, used_pages={}) == replace(host_cell, used_pages={})
        assert all(read_back.used_pages[size] == host_cell.used_pages.get(size, 0) for size in host_cell.pages)
    placements = fit(HOST, TWO, PATHS, AMOUNTS)
    assert isinstance(placements, list)
    assert [CellPlacement.from_dict(placement.as_dict()) for placement in placements] == placements
    fields = {
        "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1, 2], "pcpus": [1, 2], "memory_mb": 512}],
        "cpu_policy": "mixed",
        "thread_policy": "require",
        "devices": {"_pci0": "socket"},
    }
    assert GuestTopology.from_dict(fields) == GuestTopology(
        (GuestCell(0, "_numa0", (0,), (1, 2), 512),), "mixed", "require", {"_pci0": DevicePolicy.SOCKET}
    )
    assert GuestTopology.from_dict({}) == GuestTopology()


@settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from([1, 2, 3, 5, 6, 7])), st.integers(0, 6), st.integers(1, 6))
def test_with_use_estimates_the_pinned_cpus_optimistically(pinned: set[int], count: int, guest_cpus: int) -> None:
    # given a reported state with pinned CPUs, and a use with another count
    state = cell(0, pinned=frozenset(pinned))
    estimate = state.with_use({"PCPU": count, MB_2: 3})
    # then that many are pinned: a subset or a superset of the reported CPUs
    assert len(estimate.pinned) == count
    assert estimate.pinned <= pinned or estimate.pinned >= pinned
    assert estimate.used_pages == {2048: 2}
    # and when fewer are in use than reported, as many cores as possible are entirely free
    if count <= len(pinned):
        best = max(
            sum(set(core).isdisjoint(still_pinned) for core in state.cores)
            for still_pinned in itertools.combinations(pinned, count)
        )
        assert sum(estimate.pinned.isdisjoint(core) for core in estimate.cores) == best
