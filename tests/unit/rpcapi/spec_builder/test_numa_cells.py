# SPDX-License-Identifier: Apache-2.0
"""Distribution of a guest over NUMA cells, and page sizes of its memory."""

import pytest

from rpcapi import errors
from tests.unit.rpcapi.spec_builder.plain_request import DISK, FLOATING, SINGLE_CELL, cell, group, numa, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "two cells": (
        {"hw:numa_nodes": "2"},
        {},
        {
            "resources": DISK,
            "groups": {f"_numa{n}": group(VCPU=2, MEMORY_MB=2048) for n in (0, 1)},
            "groups_policy": "isolate",
            "numa": numa(cell(0, [0, 1], [], 2048), cell(1, [2, 3], [], 2048)),
        },
    ),
    "cells by the image": (
        {},
        {"hw_numa_nodes": "2"},
        {"numa": numa(cell(0, [0, 1], [], 2048), cell(1, [2, 3], [], 2048))},
    ),
    "unlike cells": (
        {
            "hw:numa_nodes": "2",
            "hw:numa_cpus.0": "0,2",
            "hw:numa_cpus.1": "1,3",
            "hw:numa_mem.0": "1024",
            "hw:numa_mem.1": "3072",
        },
        {},
        {
            "groups": {"_numa0": group(VCPU=2, MEMORY_MB=1024), "_numa1": group(VCPU=2, MEMORY_MB=3072)},
            "numa": numa(cell(0, [0, 2], [], 1024), cell(1, [1, 3], [], 3072)),
        },
    ),
}

CONTRADICTIONS = [
    ({"hw:numa_nodes": "0"}, {}, "integer from 1 to 128"),
    ({"hw:numa_nodes": "two"}, {}, "integer from 1 to 128"),
    ({"hw:numa_nodes": "3"}, {}, "does not evenly divide 4 cpus"),
    ({"hw:numa_nodes": "2", "hw:numa_cpus.0": "0,1", "hw:numa_cpus.1": "2,3"}, {}, "must both be set for each of 2"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-4", "hw:numa_mem.0": "4096"}, {}, "must assign each of the flavor's"),
    (
        {"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-2", "hw:numa_mem.0": "4096"},
        {},
        "numbered from 0, to one cell",
    ),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "1"}, {}, "adds up to 1 MiB; the flavor has"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-", "hw:numa_mem.0": "1"}, {}, "not a set of cpus"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "0"}, {}, "integer of at least 1 (MiB)"),
    (
        {
            "hw:numa_nodes": "2",
            "hw:numa_cpus.0": "0-3",
            "hw:numa_cpus.1": "3",
            "hw:numa_mem.0": "1",
            "hw:numa_mem.1": "1",
        },
        {},
        "numbered from 0, to one cell",
    ),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_cells_are_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


# (extra specs, image properties, fields of the spec)
PAGE_SIZES = {
    "huge pages": (
        {"hw:mem_page_size": "2MB"},
        {},
        {
            "groups": {"_numa0": group(VCPU=4, CUSTOM_MEMORY_PAGES_2048KB=4096)},
            "numa": numa(SINGLE_CELL, page=2048),
        },
    ),
    "large pages": ({"hw:mem_page_size": "large"}, {}, {"numa": numa(SINGLE_CELL, page=1048576)}),
    "large pages, the image chooses": (
        {"hw:mem_page_size": "large"},
        {"hw_mem_page_size": "2048"},
        {"numa": numa(SINGLE_CELL, page=2048)},
    ),
    "any pages": ({"hw:mem_page_size": "any"}, {}, {"groups": FLOATING, "numa": numa(SINGLE_CELL)}),
    "small pages": ({"hw:mem_page_size": "small"}, {}, {"groups": FLOATING, "numa": numa(SINGLE_CELL)}),
    "pages of 4 KiB are small ones": ({"hw:mem_page_size": "4"}, {}, {"groups": FLOATING}),
}

CONTRADICTORY_PAGE_SIZES = [
    ({"hw:mem_page_size": "huge"}, {}, "a size such as 2MB"),
    ({"hw:mem_page_size": "3"}, {"hw_mem_page_size": "2048"}, "which needs hw:mem_page_size any or large"),
    ({}, {"hw_mem_page_size": "2048"}, "which needs hw:mem_page_size any or large"),
    ({"hw:mem_page_size": "3MB"}, {}, "pages of 3072 KiB do not evenly divide"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), PAGE_SIZES.values(), ids=PAGE_SIZES)
def test_page_size_is_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTORY_PAGE_SIZES)
def test_contradictory_page_size_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence
