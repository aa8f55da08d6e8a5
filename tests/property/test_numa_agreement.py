# SPDX-License-Identifier: Apache-2.0
"""Decider and host agree on topologies: what the one finds on the state that the other reports, that one admits."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.tracker import ResourceTracker
from compute_agent.wish import BuildRequirements
from rpcapi import objects
from rpcapi.model.numa import cpu_sets
from rpcapi.model.tree_search import NoCandidateReason, StepBudget, find_first
from rpcapi.model.trees import AllocationCandidate, Provider, ProviderInventory, ProviderTree
from scheduler_svc.candidates.numa import NumaFit
from tests.unit.compute_agent.machines import node

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
    """Return a spec as the edge makes it of a flavor's hw: keys."""
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
    return objects.RequestSpec.from_inventory(resources={"DISK_GB": 1}, groups=groups, groups_policy="none", numa=numa)


class TrackedHost:
    """An agent's tracker, and what a decider knows of it."""

    def __init__(self, text: str) -> None:
        self.node = node(text)
        self.tracker = ResourceTracker([self.node])
        self.held: dict[AttemptRef, Attempt] = {}

    def tree(self, marks: NumaFit | None = None) -> ProviderTree:
        name = self.node.name
        parts = [("", "", self.node.shape.traits), *((e.path, e.parent, e.traits) for e in self.node.shape.child_providers)]
        providers = []
        for path, parent, traits in parts:
            own = f"{name}/{path}" if path else name
            used = self.tracker.used(own)
            stocks = {
                key: ProviderInventory.from_inventory(each, used.get(key, 0))
                for key, each in self.tracker.inventories(own).items()
            }
            above = None if not path else f"{name}/{parent}" if parent else name
            mark = marks.mark(own) if marks else None
            providers.append(Provider(own, above, stocks, frozenset(traits), frozenset(), mark))
        return ProviderTree(providers)

    def decided(self, spec: objects.RequestSpec) -> AllocationCandidate | NoCandidateReason:
        told = self.tracker.kind_reports(self.node)["numa"]
        fit = NumaFit(spec.numa, told, self.tree())
        steps = StepBudget(1_000_000)
        return find_first(self.tree(fit), BuildRequirements.from_spec(spec).wanted, steps, fit.accepts)

    def admitted(self, number: int, spec: objects.RequestSpec, allocations: Any) -> Attempt | str:
        intent = Attempt(str(number), 1, Stage.INTENT, 0, name=self.node.name, allocations=allocations)
        return self.tracker.admit(intent, BuildRequirements.from_spec(spec))

    def ways(self, spec: objects.RequestSpec) -> Iterator[dict[str, dict[str, int]]]:
        """Yield every allocation of any providers at all."""
        name = self.node.name
        own = [f"{name}/{each.path}" for each in self.node.shape.child_providers]
        for served in itertools.product(own, repeat=len(spec.groups)):
            held: dict[str, dict[str, int]] = {name: dict(spec.resources)}
            for provider, group in zip(served, spec.groups.values(), strict=True):
                there = held.setdefault(provider, {})
                for key, amount in group["resources"].items():
                    there[key] = there.get(key, 0) + amount
            yield held


@pytest.mark.parametrize("examples", [60, pytest.param(1000, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_what_is_found_is_admitted_and_what_is_not_found_is_not(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(hosts(), st.lists(st.tuples(specs(), st.integers(0, 8)), max_size=8))
    def agree(text: str, guests: list[tuple[objects.RequestSpec, int]]) -> None:
        host = TrackedHost(text)
        for number, (spec, drop) in enumerate(guests):
            found = host.decided(spec)
            assert isinstance(found, AllocationCandidate) == has_capacity(host, spec)
            if isinstance(found, AllocationCandidate):
                got = host.admitted(number, spec, found.allocations)
                assert isinstance(got, Attempt), got
                host.tracker.hold(got)
                host.held[got.ref] = got
            else:
                assert found is not NoCandidateReason.STEPS
                for allocations in host.ways(spec):
                    assert isinstance(host.admitted(number, spec, allocations), str), allocations
            _assert_exclusive(host)
            if drop < len(host.held):
                ref = list(host.held)[drop]
                host.tracker.drop(ref)
                del host.held[ref]

    agree()


def has_capacity(host: TrackedHost, spec: objects.RequestSpec) -> bool:
    """Tell, from nothing but the shape and what guests were given, whether there is room for one more."""
    cells = {each["id"]: each for each in ResourceTracker([host.node]).kind_reports(host.node)["numa"]}
    gone = {number: set[int]() for number in cells}
    for attempt in host.held.values():
        for pin in attempt.assignments.get("numa", {}).get("cells", ()):
            gone[pin["cell"]] |= {cpu for _, cpu in pin["pins"]} | set(pin["emulator"])
    wanted = spec.numa["cells"]
    for chosen in itertools.permutations(cells, len(wanted)):
        if all(
            _fits_cell(host, cells[number], gone[number], cell, spec)
            for number, cell in zip(chosen, wanted, strict=True)
        ) and _has_device(host, spec, set(chosen)):
            return True
    return False


def _fits_cell(host: TrackedHost, cell: Any, gone: set[int], guest: Any, spec: objects.RequestSpec) -> bool:
    pinned, threads = len(guest["pcpus"]), cell["threads"]
    floating = len(guest["cpus"]) - pinned
    name = f"{host.node.name}/numa{cell['id']}"
    used, there = host.tracker.used(name), host.tracker.inventories(name)
    for key, amount in spec.groups[guest["group"]]["resources"].items():
        if key not in there or used.get(key, 0) + amount > there[key].capacity:
            return False
    if floating > len(cpu_sets.parse(cell["shared"])):
        return False
    free = [len(set(core) - gone) for core in cell["cores"]]
    match spec.numa["thread_policy"] if pinned else None:
        case "isolate":
            return threads == 1 and sum(free) >= pinned
        case "require":
            return any(each * sum(left >= each for left in free) >= pinned for each in range(2, threads + 1))
    return sum(free) >= pinned


def _has_device(host: TrackedHost, spec: objects.RequestSpec, chosen: set[int]) -> bool:
    if "_pci0" not in spec.groups:
        return True
    name = host.node.name
    for path, cell in (("numa0/0000:01:00.0", 0), ("0000:02:00.0", None)):
        near = cell in chosen
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
        for each in host.held.values()
        for cell in each.assignments.get("numa", {}).get("cells", ())
        for cpu in [*(pin[1] for pin in cell["pins"]), *cell["emulator"]]
    ]
    assert len(set(cpus)) == len(cpus)
    units = [
        (path, unit)
        for each in host.held.values()
        for path, given in each.assignments.get("pci", {}).get("units", {}).items()
        for unit in given
    ]
    assert len(set(units)) == len(units)
