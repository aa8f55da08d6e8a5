# SPDX-License-Identifier: Apache-2.0
"""A guest's NUMA topology, and the request groups of its cells."""

import os_resource_classes as orc

from rpcapi.edge import cells, cpus, features, pages
from rpcapi.edge.asked import Asked
from rpcapi.edge.cells import Part
from rpcapi.edge.cpus import Cpus
from rpcapi.edge.draft import Draft
from rpcapi.model.checks import topology
from rpcapi.model.groups import RequestGroup
from rpcapi.model.numa.cells import THREADS_TRAIT, TRAIT

CELL = "_numa{}"
_OF_CELLS = (orc.VCPU, orc.PCPU, orc.MEMORY_MB)


def translate(asked: Asked, draft: Draft, large_kb: int) -> None:
    """Add the guest's cells, where cells, pinned cpus, a page size or persistent memory are asked for.

    A cell is a group of its own, which a NUMA cell of a host serves. Raises InvalidSpec for what contradicts itself.
    """
    found = cpus.read(asked, draft)
    nodes, page_size = cells.count(asked), pages.asked_for(asked)
    if asked.flag("locked_memory") and page_size is None:
        raise asked.refuse("hw:locked_memory", "needs hw:mem_page_size")
    if not (nodes or page_size or found.pinned or features.persistent_memory(asked)):
        return
    _check_amounts(asked, draft, found)
    parted = cells.parts(asked, nodes or 1)
    draft.numa = {
        "cells": [_cell(number, part, found) for number, part in enumerate(parted)],
        "cpu_policy": found.policy or topology.SHARED,
        "thread_policy": found.thread_policy,
        "page_size_kb": None if page_size is None else pages.size_kb(asked, page_size, large_kb),
    }
    if found.emulator_threads is not None:
        draft.numa["emulator_threads"] = found.emulator_threads
    _add_groups(draft, found)


def _check_amounts(asked: Asked, draft: Draft, found: Cpus) -> None:
    """Raise where amounts that the cells take are named outright, other than as the flavor has them."""
    for suffix, group in draft.groups.items():
        named = [resource_class for resource_class in _OF_CELLS if group.resources.get(resource_class)]
        if suffix and named:
            why = f"cannot be asked of group {suffix!r} beside a NUMA topology, whose cells have it"
            raise asked.refuse(f"resources{suffix}:{named[0]}", why)
    for resource_class, amount in ((orc.VCPU, asked.flavor.vcpus), (orc.MEMORY_MB, asked.flavor.memory_mb)):
        told = draft.plain.get(resource_class, amount)
        all_pinned = resource_class == orc.VCPU and found.policy == topology.DEDICATED  # and VCPU=0 says the same
        if told != amount and not (all_pinned and told == 0):
            why = f"is {told}, but the cells of the NUMA topology part the flavor's {amount}"
            raise asked.refuse(f"resources:{resource_class}", why)


def _cell(number: int, part: Part, found: Cpus) -> dict[str, object]:
    return {
        "id": number,
        "group": CELL.format(number),
        "cpus": sorted(part.cpus),
        "pcpus": sorted(part.cpus & found.pinned),
        "memory_mb": part.memory_mb,
    }


def _add_groups(draft: Draft, found: Cpus) -> None:
    required = (TRAIT, THREADS_TRAIT) if found.thread_policy == topology.REQUIRE else (TRAIT,)
    forbidden = (THREADS_TRAIT,) if found.thread_policy == topology.ISOLATE else ()
    for number, cell in enumerate(draft.numa["cells"]):
        amounts = topology.takes(draft.numa, number)
        draft.add(RequestGroup(cell["group"], amounts, required=required, forbidden=forbidden))
    for resource_class in _OF_CELLS:
        draft.plain[resource_class] = 0
