# SPDX-License-Identifier: Apache-2.0
"""Rules of a guest's NUMA topology."""

from collections.abc import Mapping
from typing import Any

import os_resource_classes as orc

from rpcapi.resources.groups import MAX_GROUPS
from rpcapi.resources.numa.cells import page_class
from rpcapi.resources.numa.pinning import ThreadPolicy
from rpcapi.resources.numa.topology import DevicePolicy
from rpcapi.validation.rules import document, integer, list_of, mapping, one_of, optional, text
from rpcapi.validation.text import abbreviate, invalid_spec

MAX_CELLS = 32
MAX_CPUS = 1024  # per guest
SHARED, DEDICATED, MIXED = CPU_POLICIES = ("shared", "dedicated", "mixed")
PREFER, REQUIRE, ISOLATE = THREAD_POLICIES = tuple(map(str, ThreadPolicy))
SHARE = "share"
EMULATOR_THREADS = (SHARE, ISOLATE)

_CPU = integer(0, MAX_CPUS - 1)
_CELL = {
    "id": integer(0, MAX_CELLS - 1),
    "group": text,
    "cpus": list_of(_CPU, MAX_CPUS, 1),
    "pcpus": list_of(_CPU, MAX_CPUS),
    "memory_mb": integer(),
}
NUMA = document(
    {
        "cells": list_of(document(_CELL, required=_CELL), MAX_CELLS, 1),
        "cpu_policy": one_of(CPU_POLICIES),
        "thread_policy": optional(one_of(THREAD_POLICIES)),
        "page_size_kb": optional(integer()),
        "emulator_threads": optional(one_of(EMULATOR_THREADS)),
        "devices": mapping(text, one_of(tuple(DevicePolicy)), MAX_GROUPS),
    },
    required=("cells", "cpu_policy"),
)


def check(numa: Mapping[str, Any], groups: Mapping[str, Any]) -> None:
    """Raise InvalidSpec for a contradictory topology; ``numa`` must follow NUMA, and ``groups`` be valid.

    Cells and guest CPUs are numbered from 0. Each CPU is in exactly one cell, whose request group has exactly its CPUs
    and memory.
    """
    cells = numa["cells"]
    for number, cell in enumerate(cells):
        _check_cell(number, cell)
    _check_cpus(cells)
    _check_policies(numa, cells)
    for name in (*(cell["group"] for cell in cells), *numa.get("devices", ())):
        if name not in groups:
            raise invalid_spec(f"numa names group {abbreviate(name)}, which is not in the request")
    for number, cell in enumerate(cells):
        _check_group(numa, number, cell, groups[cell["group"]])
    if len({cell["group"] for cell in cells}) < len(cells):
        raise invalid_spec("two cells of numa have the same group")


def cell_resources(numa: Mapping[str, Any], number: int) -> dict[str, int]:
    """Return the amounts of a guest cell; cell 0 includes isolated emulator threads."""
    cell = numa["cells"][number]
    pinned = len(cell["pcpus"]) + (number == 0 and numa.get("emulator_threads") == ISOLATE)
    page_size_kb = numa.get("page_size_kb")
    memory = orc.MEMORY_MB if page_size_kb is None else page_class(page_size_kb)
    amounts = {orc.VCPU: len(cell["cpus"]) - len(cell["pcpus"]), orc.PCPU: pinned, memory: cell["memory_mb"]}
    return {resource_class: amount for resource_class, amount in amounts.items() if amount}


def _check_cell(number: int, cell: Mapping[str, Any]) -> None:
    if cell["id"] != number:
        raise invalid_spec(f"numa.cells[{number}] has id {cell['id']}: cells are numbered from 0")
    if len(set(cell["pcpus"])) < len(cell["pcpus"]) or not set(cell["pcpus"]) <= set(cell["cpus"]):
        raise invalid_spec(f"numa.cells[{number}] pins a cpu twice, or one that is not in its list of cpus")


def _check_cpus(cells: list[Any]) -> None:
    cpus = [cpu for cell in cells for cpu in cell["cpus"]]
    missing = set(range(len(cpus))).difference(cpus)
    if missing:
        raise invalid_spec(
            f"cpu {min(missing)} is in no cell of numa: each of {len(cpus)} cpus, numbered from 0, must be in one cell"
        )


def _check_policies(numa: Mapping[str, Any], cells: list[Any]) -> None:
    cpu_policy = numa["cpu_policy"]
    pinned, all_cpus = sum(len(cell["pcpus"]) for cell in cells), sum(len(cell["cpus"]) for cell in cells)
    consistent = {SHARED: pinned == 0, DEDICATED: pinned == all_cpus, MIXED: 0 < pinned < all_cpus}
    if not consistent[cpu_policy]:
        raise invalid_spec(f"{pinned} of {all_cpus} cpus are pinned, which contradicts cpu_policy {cpu_policy!r}")
    if cpu_policy == SHARED and (numa.get("thread_policy") or numa.get("emulator_threads") == ISOLATE):
        raise invalid_spec("thread_policy and isolated emulator threads need pinned cpus, but cpu_policy is 'shared'")


def _check_group(numa: Mapping[str, Any], number: int, cell: Mapping[str, Any], group: Mapping[str, Any]) -> None:
    path = f"numa.cells[{number}]"
    page_size_kb = numa.get("page_size_kb")
    if page_size_kb is not None and cell["memory_mb"] * 1024 % page_size_kb:
        raise invalid_spec(f"pages of {page_size_kb} KiB do not evenly divide the {cell['memory_mb']} MiB of {path}")
    required_resources = cell_resources(numa, number)
    if group.get("resources", {}) != required_resources:
        raise invalid_spec(f"group {cell['group']!r} must request what {path} needs: {required_resources}")
