# SPDX-License-Identifier: Apache-2.0
"""The NUMA topology of a guest, and amounts that contradict it."""

import pytest

from rpcapi import errors
from tests.unit.rpcapi.spec_builder.plain_request import cell, group, numa, request

CONTRADICTIONS = [
    ({"resources:PCPU": "4", "resources:MEMORY_MB": "1"}, {}, "is 1, but the cells"),
    ({"hw:cpu_policy": "dedicated", "resources1:MEMORY_MB": "1"}, {}, ": the cells of the NUMA topology request it"),
    ({"hw:locked_memory": "true"}, {}, "needs hw:mem_page_size"),
    ({"resources:VCPU": "0", "hw:numa_nodes": "1"}, {}, "is 0, but the cells"),
]


def test_cells_are_request_groups_that_share_cpus_memory_and_policies():
    spec = request({"hw:numa_nodes": "2", "hw:cpu_policy": "dedicated", "hw:mem_page_size": "2MB"})
    amounts = {"PCPU": 2, "CUSTOM_MEMORY_PAGES_2048KB": 2048}
    assert spec.groups == {f"_numa{n}": group(**amounts) for n in (0, 1)}
    assert spec.numa == numa(
        cell(0, [0, 1], [0, 1], 2048), cell(1, [2, 3], [2, 3], 2048), policy="dedicated", page=2048
    )


def test_request_without_numa_settings_has_no_topology():
    spec = request({})
    assert (spec.numa, spec.groups) == ({}, {})


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence
