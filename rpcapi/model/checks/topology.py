# SPDX-License-Identifier: Apache-2.0
"""A guest's NUMA topology: does it make sense, and do its request groups ask for just what its cells take?"""

import itertools
from collections.abc import Mapping
from typing import Any

import os_resource_classes as orc

from rpcapi.model.checks.text import check_keys, check_list, check_mapping, is_integer, refuse, shown
from rpcapi.model.inventory import MAX_AMOUNT
from rpcapi.model.numa.cells import page_class

MAX_CELLS = 32
MAX_CPUS = 1024  # of one guest
SHARED, DEDICATED, MIXED = CPU_POLICIES = ("shared", "dedicated", "mixed")
PREFER, REQUIRE, ISOLATE = THREAD_POLICIES = ("prefer", "require", "isolate")
SHARE = "share"
EMULATOR_THREADS = (SHARE, ISOLATE)
DEVICE_POLICIES = ("required", "legacy", "preferred", "socket")
KEYS = ("cells", "cpu_policy", "thread_policy", "page_size_kb", "emulator_threads", "devices")
CELL_KEYS = ("id", "group", "cpus", "pcpus", "memory_mb")


def check(numa: Any, groups: Mapping[str, Any]) -> None:
    """Raise InvalidSpec for a topology that no host can have; {} is none. ``groups`` were checked before.

    Cells are numbered from 0 and part the guest's cpus, numbered from 0, among them; each has a request group of its
    own, which asks for its cpus and memory and nothing else.
    """
    check_keys("the NUMA topology", numa, KEYS)
    if not numa:
        return
    cells = numa.get("cells")
    check_list("the cells of the NUMA topology", cells, MAX_CELLS)
    if not cells:
        raise refuse("the NUMA topology has no cells")
    for number, cell in enumerate(cells):
        _cell(number, cell)
    _cpus(cells)
    _policies(numa, cells)
    _pages(numa.get("page_size_kb"), cells)
    _devices(numa.get("devices", {}), groups)
    for number, cell in enumerate(cells):
        _group(numa, number, cell, groups)
    if len({cell["group"] for cell in cells}) < len(cells):
        raise refuse("two cells of the NUMA topology have the same group")


def takes(numa: Mapping[str, Any], number: int) -> dict[str, int]:
    """Return what cell ``number`` takes of its host cell, by resource class; the emulator's own cpu is cell 0's."""
    cell = numa["cells"][number]
    pinned = len(cell["pcpus"]) + (number == 0 and numa.get("emulator_threads") == ISOLATE)
    page_size_kb = numa.get("page_size_kb")
    memory = orc.MEMORY_MB if page_size_kb is None else page_class(page_size_kb)
    amounts = {orc.VCPU: len(cell["cpus"]) - len(cell["pcpus"]), orc.PCPU: pinned, memory: cell["memory_mb"]}
    return {resource_class: amount for resource_class, amount in amounts.items() if amount}


def _cell(number: int, cell: Any) -> None:
    what = f"cell {number} of the NUMA topology"
    check_keys(what, cell, CELL_KEYS)
    if not is_integer(cell.get("id"), number, number):
        raise refuse(f"{what} has the id {shown(cell.get('id'))}: cells are numbered from 0")
    for key in ("cpus", "pcpus"):
        check_list(f"{key} of {what}", cell.get(key), MAX_CPUS)
        for cpu in cell[key]:
            if not is_integer(cpu, 0, MAX_CPUS - 1):
                raise refuse(f"{key} of {what} must be integers from 0 to {MAX_CPUS - 1}, not {shown(cpu)}")
        if len(set(cell[key])) < len(cell[key]):
            raise refuse(f"{key} of {what} name a cpu twice")
    if not cell["cpus"]:
        raise refuse(f"{what} has no cpus: there are more cells than cpus can serve")
    if not set(cell["pcpus"]) <= set(cell["cpus"]):
        raise refuse(f"{what} pins cpus that it does not have")
    if not is_integer(cell.get("memory_mb"), 1, MAX_AMOUNT):
        raise refuse(f"memory_mb of {what} must be an integer from 1 up, not {shown(cell.get('memory_mb'))}")


def _cpus(cells: list[Any]) -> None:
    named = sorted(cpu for cell in cells for cpu in cell["cpus"])
    for cpu, following in itertools.pairwise(named):
        if cpu == following:
            raise refuse(f"cpu {cpu} is in two cells of the NUMA topology")
    missing = sorted(set(range(len(named))) - set(named))
    if missing:
        raise refuse(f"cpu {missing[0]} is in no cell of the NUMA topology: cpus are numbered from 0, none left out")


def _policies(numa: Mapping[str, Any], cells: list[Any]) -> None:
    cpu_policy, thread_policy = numa.get("cpu_policy"), numa.get("thread_policy")
    emulator = numa.get("emulator_threads")
    for what, value, known in (
        ("cpu_policy", cpu_policy, CPU_POLICIES),
        ("thread_policy", thread_policy, (None, *THREAD_POLICIES)),
        ("emulator_threads", emulator, (None, *EMULATOR_THREADS)),
    ):
        if value not in known:
            raise refuse(f"there is no {what} {shown(value)}; known: {', '.join(each for each in known if each)}")
    pinned, all_cpus = sum(len(cell["pcpus"]) for cell in cells), sum(len(cell["cpus"]) for cell in cells)
    good = {SHARED: pinned == 0, DEDICATED: pinned == all_cpus, MIXED: 0 < pinned < all_cpus}
    if not good[str(cpu_policy)]:
        raise refuse(f"{pinned} of {all_cpus} cpus are pinned, which is not what cpu_policy {cpu_policy!r} means")
    if cpu_policy == SHARED and (thread_policy or emulator == ISOLATE):
        raise refuse("thread_policy and isolated emulator threads are for pinned cpus; cpu_policy is 'shared'")


def _pages(page_size_kb: Any, cells: list[Any]) -> None:
    if page_size_kb is None:
        return
    if not is_integer(page_size_kb, 1, MAX_AMOUNT):
        raise refuse(f"page_size_kb must be an integer from 1 up, not {shown(page_size_kb)}")
    for cell in cells:
        if cell["memory_mb"] * 1024 % page_size_kb:
            raise refuse(f"pages of {page_size_kb} KiB do not divide the {cell['memory_mb']} MiB of cell {cell['id']}")


def _devices(devices: Any, groups: Mapping[str, Any]) -> None:
    check_mapping("the devices of the NUMA topology", devices, len(groups))
    for group, policy in devices.items():
        if group not in groups:
            raise refuse(f"the NUMA topology binds group {shown(group)}, which is not asked for")
        if policy not in DEVICE_POLICIES:
            raise refuse(f"there is no NUMA policy {shown(policy)} of devices; known: {', '.join(DEVICE_POLICIES)}")


def _group(numa: Mapping[str, Any], number: int, cell: Mapping[str, Any], groups: Mapping[str, Any]) -> None:
    group = cell.get("group")
    if not isinstance(group, str) or group not in groups:
        raise refuse(f"cell {number} of the NUMA topology has the group {shown(group)}, which is not asked for")
    wanted = takes(numa, number)
    if groups[group].get("resources", {}) != wanted:
        raise refuse(f"group {group!r} must ask for what cell {number} of the NUMA topology takes: {wanted}")
