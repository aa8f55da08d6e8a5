# SPDX-License-Identifier: Apache-2.0
"""Guests' cells on hosts' cells."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.model.numa.cells import Cell
from rpcapi.model.numa.fit import Pin, fit
from rpcapi.model.numa.topology import DevicePolicy, GuestCell, Topology

MB_2 = "CUSTOM_MEMORY_PAGES_2048KB"


def cell(number: int, **values: Any) -> Cell:
    """Four cores of two threads: the first one is shared, the others are pinned to."""
    first = 8 * number
    told: dict[str, Any] = {
        "cores": tuple((first + core, first + core + 4) for core in (1, 2, 3)),
        "shared": frozenset({first, first + 4}),
        "threads": 2,
        "socket": number // 2,
        "pages": {2048: 512},
    }
    return Cell(number, f"numa{number}", **(told | values))


HOST = [cell(0), cell(1), cell(2)]
TWO = Topology((GuestCell(0, "_numa0", (0,), (1, 2), 512), GuestCell(1, "_numa1", (3,), (4,), 512)), "mixed")
HELD = {
    "numa1": {"VCPU": 1, "PCPU": 2, MB_2: 512},
    "numa0": {"VCPU": 1, "PCPU": 2, MB_2: 512},
}
CHOSEN = {"_numa0": "numa1", "_numa1": "numa0"}


def test_each_cell_of_the_guest_lies_where_its_group_was_served() -> None:
    got = fit(HOST, TWO, CHOSEN, HELD)
    # the second cell's claim holds one more than the guest has: its emulator's
    assert got == [
        Pin(0, 1, ((4, 1),), (5,), (3,), {2048: 256}),
        Pin(1, 0, ((1, 9), (2, 13)), (), (0,), {2048: 256}),
    ]


def test_what_a_guest_without_topology_holds_is_pinned_all_the_same() -> None:
    got = fit(HOST, Topology(), {}, {"numa2": {"PCPU": 3}, "numa0": {"VCPU": 2}, "": {"DISK_GB": 1}})
    assert got == [Pin(0, floating=(0, 1)), Pin(2, None, ((0, 17), (1, 21), (2, 18)))]


@pytest.mark.parametrize(
    ("guest", "chosen", "held", "why"),
    [
        (TWO, {"_numa0": "numa0", "_numa1": "numa0"}, HELD, "cell 1 of the guest has no NUMA cell"),
        (TWO, {"_numa0": "numa0", "_numa1": ""}, HELD, "cell 1 of the guest has no NUMA cell"),
        (TWO, CHOSEN, HELD | {"numa1": {"PCPU": 1}}, "2 CPUs are to be pinned, but 1 PCPU are claimed"),
        (Topology(), {}, {"numa0": {"PCPU": 7}}, "NUMA cell 0: 7 CPUs to pin to: too few CPUs are free"),
        (Topology(), {}, {"numa0": {"VCPU": 3}}, "3 CPUs of one guest cannot float over 2"),
        (Topology(), {}, {"numa0": {MB_2: 1025}}, "it has 512 free pages of 2048 kB, not 513"),
        (Topology(), {}, {"numa0": {MB_2: 1026}}, "it has 512 free pages of 2048 kB, not 513"),
    ],
)
def test_a_refusal_says_which_cell_and_why(
    guest: Topology, chosen: dict[str, str], held: dict[str, dict[str, int]], why: str
) -> None:
    got = fit(HOST, guest, chosen, held)
    assert isinstance(got, str)
    assert why in got


@pytest.mark.parametrize(
    ("policy", "near"),
    [
        (DevicePolicy.REQUIRED, {"numa1/gpu"}),
        (DevicePolicy.SOCKET, {"numa0/gpu", "numa1/gpu"}),
        (DevicePolicy.LEGACY, {"numa1/gpu", "gpu"}),
        (DevicePolicy.PREFERRED, {"numa0/gpu", "numa1/gpu", "numa2/gpu", "gpu"}),
    ],
)
def test_a_device_is_as_near_as_its_policy_wants(policy: DevicePolicy, near: set[str]) -> None:
    guest = Topology((GuestCell(0, "_numa0", (0,)),), devices={"_pci0": policy})
    found = set()
    for path in ("numa0/gpu", "numa1/gpu", "numa2/gpu", "gpu"):
        held = {"numa1": {"VCPU": 1}, path: {"VGPU": 1}}
        if not isinstance(fit(HOST, guest, {"_numa0": "numa1", "_pci0": path}, held), str):
            found.add(path)
    assert found == near


def test_state_and_topology_are_read_as_they_were_told() -> None:
    for each in (cell(3), cell(0, pinned=frozenset({1, 5}), used_pages={2048: 7}), Cell(0, "numa0")):
        again = Cell.from_dict(each.as_dict())
        assert replace(again, used_pages={}) == replace(each, used_pages={})
        assert all(again.used_pages[size] == each.used_pages.get(size, 0) for size in each.pages)
    pins = fit(HOST, TWO, CHOSEN, HELD)
    assert isinstance(pins, list)
    assert [Pin.from_dict(pin.as_dict()) for pin in pins] == pins
    told = {
        "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1, 2], "pcpus": [1, 2], "memory_mb": 512}],
        "cpu_policy": "mixed",
        "thread_policy": "require",
        "devices": {"_pci0": "socket"},
    }
    assert Topology.from_dict(told) == Topology(
        (GuestCell(0, "_numa0", (0,), (1, 2), 512),), "mixed", "require", {"_pci0": DevicePolicy.SOCKET}
    )
    assert Topology.from_dict({}) == Topology()


@settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from([1, 2, 3, 5, 6, 7])), st.integers(0, 6), st.integers(1, 6))
def test_with_nothing_told_of_them_cpus_are_taken_and_freed_for_the_best(
    pinned: set[int], count: int, wanted: int
) -> None:
    # given a state that tells which are pinned, and a use that counts others
    state = cell(0, pinned=frozenset(pinned))
    now = state.with_use({"PCPU": count, MB_2: 3})
    # then there are as many, a part of those told or all of them and more
    assert len(now.pinned) == count
    assert now.pinned <= pinned or now.pinned >= pinned
    assert now.used_pages == {2048: 2}
    # and where fewer are in use than told, it has as many whole cores as any choice of the freed could leave
    if count <= len(pinned):
        best = max(
            sum(set(core).isdisjoint(left) for core in state.cores) for left in itertools.combinations(pinned, count)
        )
        assert sum(now.pinned.isdisjoint(core) for core in now.cores) == best
