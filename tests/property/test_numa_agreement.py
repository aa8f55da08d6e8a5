# SPDX-License-Identifier: Apache-2.0
"""Scheduler worker and agent agree on NUMA topologies: the agent admits what the worker finds on its reported state."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compute_agent.attempt import Attempt
from compute_agent.resources.tracker import ResourceTracker
from rpcapi import objects
from rpcapi.resources.numa import cpu_sets
from rpcapi.resources.trees.search import NoCandidateReason
from rpcapi.resources.trees.tree import AllocationCandidate
from tests.support.clouds.tracked_host import TrackedHost

HOST_CONFIGURATION = """
    [compute]
    hosts = alpha
    [shape:x]
    vcpus = {cpus}
    memory_mb = {memory}
    reserved_memory_mb = 0
    numa_cells = {cells}
    threads_per_core = {threads}
    cpu_dedicated_set = {dedicated}
    huge_pages = 2048:{pages}
    pci_devices = card:1@0,card:1
    [pci_device:card]
    vendor_id = 10de
    product_id = 20b5
    functions = 2
"""
MB_2 = "CUSTOM_MEMORY_PAGES_2048KB"
CARD = "CUSTOM_PCI_10DE_20B5"


@st.composite
def hosts(draw: st.DrawFn) -> str:
    cells, threads, cores = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 3))
    cpus = cells * threads * cores
    dedicated = draw(st.sets(st.integers(0, cpus - 1), min_size=cpus // 2))
    return HOST_CONFIGURATION.format(
        cpus=cpus,
        memory=cells * 4096,
        cells=cells,
        threads=threads,
        dedicated=",".join(map(str, dedicated)),
        pages=draw(st.integers(1, 512)),
    )


@st.composite
def specs(draw: st.DrawFn) -> objects.RequestSpec:
    """Return a spec as rpcapi.spec_builder builds it from a flavor's hw: keys."""
    huge = draw(st.booleans())
    cells, groups, cpu = [], {}, itertools.count()
    for number in range(draw(st.integers(1, 2))):
        pinned, floating = draw(st.integers(0, 4)), draw(st.integers(0, 2))
        pcpus = [next(cpu) for _ in range(pinned)]
        cpus = sorted([*pcpus, *(next(cpu) for _ in range(floating))])
        memory = 2 * draw(st.integers(1, 300))
        cells.append({"id": number, "group": f"_numa{number}", "cpus": cpus, "pcpus": pcpus, "memory_mb": memory})
        amounts = {"PCPU": pinned, "VCPU": floating, MB_2 if huge else "MEMORY_MB": memory}
        groups[f"_numa{number}"] = {"resources": {name: amount for name, amount in amounts.items() if amount}}
    numa: dict[str, Any] = {
        "cells": cells,
        "cpu_policy": "mixed",
        "thread_policy": draw(st.sampled_from([None, "prefer", "require", "isolate"])),
        "page_size_kb": 2048 if huge else None,
    }
    policy = draw(st.sampled_from([None, "required", "legacy", "socket", "preferred"]))
    if policy is not None:
        groups["_pci0"] = {"resources": {CARD: 1}}
        numa["devices"] = {"_pci0": policy}
    return objects.RequestSpec.of(resources={"DISK_GB": 1}, groups=groups, groups_policy="none", numa=numa)


@pytest.mark.parametrize("examples", [60, pytest.param(1000, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_found_allocations_are_admitted_and_no_others_are(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(hosts(), st.lists(st.tuples(specs(), st.integers(0, 8)), max_size=8))
    def agree(text: str, guests: list[tuple[objects.RequestSpec, int]]) -> None:
        host = TrackedHost(text)
        for number, (spec, drop) in enumerate(guests):
            allocation_candidate = host.find_allocation(spec)
            assert isinstance(allocation_candidate, AllocationCandidate) == has_capacity(host, spec)
            if isinstance(allocation_candidate, AllocationCandidate):
                attempt = host.admit(number, spec, allocation_candidate.allocations)
                assert isinstance(attempt, Attempt), attempt
                host.tracker.hold(attempt)
                host.attempts[attempt.ref] = attempt
            else:
                assert allocation_candidate is not NoCandidateReason.UNDECIDED
                for allocations in host.possible_allocations(spec):
                    assert isinstance(host.admit(number, spec, allocations), str), allocations
            _assert_exclusive(host)
            if drop < len(host.attempts):
                ref = list(host.attempts)[drop]
                host.tracker.drop(ref)
                del host.attempts[ref]

    agree()


def has_capacity(host: TrackedHost, spec: objects.RequestSpec) -> bool:
    """Return, from the node's shape and the guests' assignments only, whether one more guest fits."""
    cells = {numa_cell["id"]: numa_cell for numa_cell in ResourceTracker([host.node]).kind_reports(host.node)["numa"]}
    used_cpus = {number: set[int]() for number in cells}
    for attempt in host.attempts.values():
        for pin in attempt.assignments.get("numa", {}).get("cells", ()):
            used_cpus[pin["cell"]] |= {cpu for _, cpu in pin["pins"]} | set(pin["emulator"])
    requested_cells = spec.numa["cells"]
    for assigned_cells in itertools.permutations(cells, len(requested_cells)):
        if all(
            _fits_cell(host, cells[number], used_cpus[number], cell, spec)
            for number, cell in zip(assigned_cells, requested_cells, strict=True)
        ) and _has_device(host, spec, set(assigned_cells)):
            return True
    return False


def _fits_cell(host: TrackedHost, cell: Any, used_cpus: set[int], guest: Any, spec: objects.RequestSpec) -> bool:
    pinned, threads = len(guest["pcpus"]), cell["threads"]
    floating = len(guest["cpus"]) - pinned
    name = f"{host.node.name}/numa{cell['id']}"
    used, inventories = host.tracker.used(name), host.tracker.inventories(name)
    for key, amount in spec.groups[guest["group"]]["resources"].items():
        if key not in inventories or used.get(key, 0) + amount > inventories[key].capacity:
            return False
    if floating > len(cpu_sets.parse(cell["shared"])):
        return False
    free = [len(set(core) - used_cpus) for core in cell["cores"]]
    match spec.numa["thread_policy"] if pinned else None:
        case "isolate":
            return threads == 1 and sum(free) >= pinned
        case "require":
            return any(
                per_core * sum(core_free >= per_core for core_free in free) >= pinned
                for per_core in range(2, threads + 1)
            )
    return sum(free) >= pinned


def _has_device(host: TrackedHost, spec: objects.RequestSpec, cells: set[int]) -> bool:
    if "_pci0" not in spec.groups:
        return True
    name = host.node.name
    for path, cell in (("numa0/0000:01:00.0", 0), ("0000:02:00.0", None)):
        near = cell in cells
        match spec.numa["devices"]["_pci0"]:
            case "legacy":
                near = near or cell is None
            case "preferred":
                near = True
        if near and host.tracker.used(f"{name}/{path}").get(CARD, 0) < 2:
            return True
    return False


def _assert_exclusive(host: TrackedHost) -> None:
    cpus = [
        cpu
        for attempt in host.attempts.values()
        for cell in attempt.assignments.get("numa", {}).get("cells", ())
        for cpu in [*(pin[1] for pin in cell["pins"]), *cell["emulator"]]
    ]
    assert len(set(cpus)) == len(cpus)
    units = [
        (path, unit)
        for attempt in host.attempts.values()
        for path, assigned_units in attempt.assignments.get("pci", {}).get("units", {}).items()
        for unit in assigned_units
    ]
    assert len(set(units)) == len(units)
