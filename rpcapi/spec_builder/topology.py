# SPDX-License-Identifier: Apache-2.0
"""Translation of a guest's NUMA topology into request groups."""

import os_resource_classes as orc

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.numa.cells import CELL_TRAIT, THREADS_TRAIT
from rpcapi.spec_builder import cpus, features, numa_cells
from rpcapi.spec_builder.cpus import CpuLayout
from rpcapi.spec_builder.draft import FlavorImageProperties, SpecDraft
from rpcapi.validation import topology

CELL = "_numa{}"
_OF_CELLS = (orc.VCPU, orc.PCPU, orc.MEMORY_MB)


def translate(flavor_image: FlavorImageProperties, draft: SpecDraft, large_kb: int) -> None:
    """Add a request group per guest cell, if a NUMA topology is requested or implied; raises InvalidSpec."""
    layout = cpus.read(flavor_image, draft)
    nodes, page_size = numa_cells.count_cells(flavor_image), numa_cells.requested_page_size(flavor_image)
    if flavor_image.flag("locked_memory") and page_size is None:
        raise flavor_image.invalid("hw:locked_memory", "needs hw:mem_page_size")
    if not (nodes or page_size or layout.pinned or features.persistent_memory(flavor_image)):
        return
    _check_amounts(flavor_image, draft, layout)
    shares = numa_cells.split_into_cells(flavor_image, nodes or 1)
    draft.numa = {
        "cells": [
            {
                "id": number,
                "group": CELL.format(number),
                "cpus": sorted(guest_cpus),
                "pcpus": sorted(guest_cpus & layout.pinned),
                "memory_mb": memory_mb,
            }
            for number, (guest_cpus, memory_mb) in enumerate(shares)
        ],
        "cpu_policy": layout.policy or topology.SHARED,
        "thread_policy": layout.thread_policy,
        "page_size_kb": None if page_size is None else numa_cells.parse_size_kb(flavor_image, page_size, large_kb),
    }
    if layout.emulator_threads is not None:
        draft.numa["emulator_threads"] = layout.emulator_threads
    _add_groups(draft, layout)


def _check_amounts(flavor_image: FlavorImageProperties, draft: SpecDraft, layout: CpuLayout) -> None:
    for suffix, group in draft.groups.items():
        cell_classes = [resource_class for resource_class in _OF_CELLS if group.resources.get(resource_class)]
        if suffix and cell_classes:
            why = f"cannot be requested in group {suffix!r}: the cells of the NUMA topology request it"
            raise flavor_image.invalid(f"resources{suffix}:{cell_classes[0]}", why)
    for resource_class, amount in (
        (orc.VCPU, flavor_image.flavor.vcpus),
        (orc.MEMORY_MB, flavor_image.flavor.memory_mb),
    ):
        requested_amount = draft.unsuffixed.get(resource_class, amount)
        all_pinned = resource_class == orc.VCPU and layout.policy == topology.DEDICATED  # VCPU=0 is equivalent then
        if requested_amount != amount and not (all_pinned and requested_amount == 0):
            why = f"is {requested_amount}, but the cells of the NUMA topology request the flavor's {amount}"
            raise flavor_image.invalid(f"resources:{resource_class}", why)


def _add_groups(draft: SpecDraft, layout: CpuLayout) -> None:
    required = (CELL_TRAIT, THREADS_TRAIT) if layout.thread_policy == topology.REQUIRE else (CELL_TRAIT,)
    forbidden = (THREADS_TRAIT,) if layout.thread_policy == topology.ISOLATE else ()
    for number, cell in enumerate(draft.numa["cells"]):
        amounts = topology.cell_resources(draft.numa, number)
        draft.add_group(RequestGroup(cell["group"], amounts, required=required, forbidden=forbidden))
    draft.clear_amounts(*_OF_CELLS)
