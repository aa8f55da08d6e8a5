# SPDX-License-Identifier: Apache-2.0
"""Rules of a guest's NUMA topology and of the request groups of its cells."""

import pytest

from rpcapi import errors
from rpcapi.validation import topology

CELL0 = {"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 1024}
CELL1 = {"id": 1, "group": "_numa1", "cpus": [2, 3], "pcpus": [2, 3], "memory_mb": 1024}
GROUPS = {suffix: {"resources": {"PCPU": 2, "MEMORY_MB": 1024}} for suffix in ("_numa0", "_numa1")}


def pinned(cells=(CELL0, CELL1), **fields):
    return {"cells": list(cells), "cpu_policy": "dedicated", "thread_policy": None, "page_size_kb": None} | fields


def check(numa):
    topology.NUMA("numa", numa)
    topology.check(numa, GROUPS)


@pytest.mark.parametrize(
    "numa",
    [
        pinned(),
        pinned(thread_policy="require", emulator_threads="share"),
        pinned(devices={"_numa1": "required"}),
    ],
)
def test_valid_topology_passes(numa):
    check(numa)


@pytest.mark.parametrize(
    ("numa", "sentence"),
    [
        ([], "numa must be a mapping"),
        (pinned(cells=[]), "numa.cells must have 1 to 32 elements, got 0"),
        (pinned(cells=[CELL1]), "cells are numbered from 0"),
        (pinned(cells=[CELL0 | {"cpus": [], "pcpus": []}]), "numa.cells[0].cpus must have 1 to 1024 elements"),
        (pinned(cells=[CELL0 | {"cpus": [0, 0], "pcpus": [0]}]), "cpu 1 is in no cell"),
        (pinned(cells=[CELL0 | {"pcpus": [0, 0]}]), "pins a cpu twice"),
        (pinned(cells=[CELL0 | {"cpus": [-1]}]), "numa.cells[0].cpus[0] must be an integer from 0 to 1023, not -1"),
        (pinned(cells=[CELL0, CELL1 | {"cpus": [1, 2], "pcpus": [1, 2]}]), "cpu 3 is in no cell"),
        (pinned(cells=[CELL0, CELL1 | {"cpus": [3, 4], "pcpus": [3, 4]}]), "cpu 2 is in no cell"),
        (pinned(cells=[CELL0, CELL1 | {"pcpus": [7]}]), "or one that is not in its list of cpus"),
        (pinned(cells=[CELL0, CELL1 | {"memory_mb": 0}]), "numa.cells[1].memory_mb must be an integer"),
        (pinned(cells=[CELL0, CELL1 | {"memory_mb": 2048}]), "'_numa1' must request what numa.cells[1] needs"),
        (pinned(cells=[CELL0, CELL1 | {"group": "_numa7"}]), "names group '_numa7', which is not in the request"),
        (pinned(cells=[CELL0, CELL1 | {"group": "_numa0"}]), "have the same group"),
        (pinned(cells=[CELL0, CELL1 | {"colour": "red"}]), "has an unknown key 'colour'"),
        (pinned(cpu_policy="mixed"), "4 of 4 cpus are pinned"),
        (pinned(cpu_policy="shared"), "4 of 4 cpus are pinned"),
        (pinned(cpu_policy=None), "numa.cpu_policy must be one of shared, dedicated, mixed, not None"),
        (pinned(thread_policy="knit"), "numa.thread_policy must be one of prefer, require, isolate, not 'knit'"),
        (pinned(page_size_kb=0), "numa.page_size_kb must be an integer from 1"),
        (pinned(page_size_kb=3), "pages of 3 KiB do not evenly divide"),
        (pinned(page_size_kb=2048), "'_numa0' must request what numa.cells[0] needs"),
        (pinned(emulator_threads="isolate"), "'_numa0' must request what numa.cells[0] needs"),
        (pinned(devices={"_pci0": "required"}), "names group '_pci0'"),
        (pinned(devices={"_numa0": "near"}), "numa.devices._numa0 must be one of"),
        (
            pinned(cells=[{"id": 0}]),
            "numa.cells[0].group must be 1 to 255 printable characters without blanks at the ends, not None",
        ),
        (pinned(colour="red"), "has an unknown key 'colour'"),
    ],
)
def test_invalid_topology_is_refused_with_the_reason(numa, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        check(numa)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("fields", "amounts"),
    [
        ({}, {"PCPU": 2, "MEMORY_MB": 1024}),
        ({"emulator_threads": "isolate"}, {"PCPU": 3, "MEMORY_MB": 1024}),
        ({"page_size_kb": 2048}, {"PCPU": 2, "CUSTOM_MEMORY_PAGES_2048KB": 1024}),
        ({"cells": [CELL0 | {"pcpus": [1]}]}, {"VCPU": 1, "PCPU": 1, "MEMORY_MB": 1024}),
    ],
)
def test_amounts_of_a_cell_depend_on_pins_pages_and_emulator_threads(fields, amounts):
    assert topology.cell_resources(pinned(**fields), 0) == amounts
