# SPDX-License-Identifier: Apache-2.0
"""Validation of a guest's NUMA topology and its cells' request groups."""

import itertools
from collections.abc import Mapping
from typing import Any

import os_resource_classes as orc

from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.resources.numa.cells import page_class
from rpcapi.validation.text import abbreviate, check_keys, check_list, check_mapping, invalid_spec, is_integer

MAX_CELLS = 32
MAX_CPUS = 1024  # per guest
SHARED, DEDICATED, MIXED = CPU_POLICIES = ("shared", "dedicated", "mixed")
PREFER, REQUIRE, ISOLATE = THREAD_POLICIES = ("prefer", "require", "isolate")
SHARE = "share"
EMULATOR_THREADS = (SHARE, ISOLATE)
DEVICE_POLICIES = ("required", "legacy", "preferred", "socket")
KEYS = ("cells", "cpu_policy", "thread_policy", "page_size_kb", "emulator_threads", "devices")
CELL_KEYS = ("id", "group", "cpus", "pcpus", "memory_mb")


def check(numa: Any, groups: Mapping[str, Any]) -> None:
    """Raise InvalidSpec for an invalid topology; {} means none.

    ``groups`` must be valid. Cells and guest CPUs are numbered from 0; each CPU is in exactly one cell, whose own
    request group requests exactly its CPUs and memory.
    """
    check_keys("the NUMA topology", numa, KEYS)
    if not numa:
        return
    cells = numa.get("cells")
    check_list("the cells of the NUMA topology", cells, MAX_CELLS)
    if not cells:
        raise invalid_spec("the NUMA topology has no cells")
    for number, cell in enumerate(cells):
        _cell(number, cell)
    _cpus(cells)
    _policies(numa, cells)
    _pages(numa.get("page_size_kb"), cells)
    _devices(numa.get("devices", {}), groups)
    for number, cell in enumerate(cells):
        _group(numa, number, cell, groups)
    if len({cell["group"] for cell in cells}) < len(cells):
        raise invalid_spec("two cells of the NUMA topology have the same group")


def cell_resources(numa: Mapping[str, Any], number: int) -> dict[str, int]:
    """Return the amounts of guest cell ``number``; cell 0 includes isolated emulator threads."""
    cell = numa["cells"][number]
    pinned = len(cell["pcpus"]) + (number == 0 and numa.get("emulator_threads") == ISOLATE)
    page_size_kb = numa.get("page_size_kb")
    memory = orc.MEMORY_MB if page_size_kb is None else page_class(page_size_kb)
    amounts = {orc.VCPU: len(cell["cpus"]) - len(cell["pcpus"]), orc.PCPU: pinned, memory: cell["memory_mb"]}
    return {resource_class: amount for resource_class, amount in amounts.items() if amount}


def _cell(number: int, cell: Any) -> None:
    label = f"cell {number} of the NUMA topology"
    check_keys(label, cell, CELL_KEYS)
    if not is_integer(cell.get("id"), number, number):
        raise invalid_spec(f"{label} has id {abbreviate(cell.get('id'))}: cells are numbered from 0")
    for key in ("cpus", "pcpus"):
        check_list(f"{key} of {label}", cell.get(key), MAX_CPUS)
        for cpu in cell[key]:
            if not is_integer(cpu, 0, MAX_CPUS - 1):
                raise invalid_spec(f"{key} of {label} must be integers from 0 to {MAX_CPUS - 1}, not {abbreviate(cpu)}")
        if len(set(cell[key])) < len(cell[key]):
            raise invalid_spec(f"{key} of {label} list a cpu twice")
    if not cell["cpus"]:
        raise invalid_spec(f"{label} has no cpus: a guest may not have more cells than cpus")
    if not set(cell["pcpus"]) <= set(cell["cpus"]):
        raise invalid_spec(f"{label} pins cpus that are not in its list of cpus")
    if not is_integer(cell.get("memory_mb"), 1, MAX_AMOUNT):
        raise invalid_spec(
            f"memory_mb of {label} must be an integer of at least 1, not {abbreviate(cell.get('memory_mb'))}"
        )


def _cpus(cells: list[Any]) -> None:
    cpus = sorted(cpu for cell in cells for cpu in cell["cpus"])
    for cpu, next_cpu in itertools.pairwise(cpus):
        if cpu == next_cpu:
            raise invalid_spec(f"cpu {cpu} is in two cells of the NUMA topology")
    missing = sorted(set(range(len(cpus))) - set(cpus))
    if missing:
        raise invalid_spec(
            f"cpu {missing[0]} is in no cell of the NUMA topology: cpus are numbered from 0 without gaps"
        )


def _policies(numa: Mapping[str, Any], cells: list[Any]) -> None:
    cpu_policy, thread_policy = numa.get("cpu_policy"), numa.get("thread_policy")
    emulator = numa.get("emulator_threads")
    for label, value, allowed_values in (
        ("cpu_policy", cpu_policy, CPU_POLICIES),
        ("thread_policy", thread_policy, (None, *THREAD_POLICIES)),
        ("emulator_threads", emulator, (None, *EMULATOR_THREADS)),
    ):
        if value not in allowed_values:
            raise invalid_spec(
                f"unknown {label} {abbreviate(value)}; known: {', '.join(name for name in allowed_values if name)}"
            )
    pinned, all_cpus = sum(len(cell["pcpus"]) for cell in cells), sum(len(cell["cpus"]) for cell in cells)
    consistent = {SHARED: pinned == 0, DEDICATED: pinned == all_cpus, MIXED: 0 < pinned < all_cpus}
    if not consistent[str(cpu_policy)]:
        raise invalid_spec(f"{pinned} of {all_cpus} cpus are pinned, which contradicts cpu_policy {cpu_policy!r}")
    if cpu_policy == SHARED and (thread_policy or emulator == ISOLATE):
        raise invalid_spec("thread_policy and isolated emulator threads need pinned cpus, but cpu_policy is 'shared'")


def _pages(page_size_kb: Any, cells: list[Any]) -> None:
    if page_size_kb is None:
        return
    if not is_integer(page_size_kb, 1, MAX_AMOUNT):
        raise invalid_spec(f"page_size_kb must be an integer of at least 1, not {abbreviate(page_size_kb)}")
    for cell in cells:
        if cell["memory_mb"] * 1024 % page_size_kb:
            raise invalid_spec(
                f"pages of {page_size_kb} KiB do not evenly divide the {cell['memory_mb']} MiB of cell {cell['id']}"
            )


def _devices(devices: Any, groups: Mapping[str, Any]) -> None:
    check_mapping("the devices of the NUMA topology", devices, len(groups))
    for group, policy in devices.items():
        if group not in groups:
            raise invalid_spec(f"the NUMA topology names group {abbreviate(group)}, which is not in the request")
        if policy not in DEVICE_POLICIES:
            raise invalid_spec(
                f"unknown NUMA policy {abbreviate(policy)} of devices; known: {', '.join(DEVICE_POLICIES)}"
            )


def _group(numa: Mapping[str, Any], number: int, cell: Mapping[str, Any], groups: Mapping[str, Any]) -> None:
    group = cell.get("group")
    if not isinstance(group, str) or group not in groups:
        raise invalid_spec(
            f"cell {number} of the NUMA topology names group {abbreviate(group)}, which is not in the request"
        )
    required_resources = cell_resources(numa, number)
    if groups[group].get("resources", {}) != required_resources:
        raise invalid_spec(
            f"group {group!r} must request what cell {number} of the NUMA topology needs: {required_resources}"
        )
