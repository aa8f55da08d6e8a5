# SPDX-License-Identifier: Apache-2.0
"""What a build requires besides the amounts of its claim."""

from compute_agent.resources.requirements import BuildRequirements
from rpcapi import objects
from rpcapi.resources.groups import RequestGroup


def test_defaults_require_nothing():
    required = BuildRequirements()
    assert (required.topology.cells, required.tree_request.groups, required.extra_specs) == ((), (), {})


def test_request_without_suffixed_groups_needs_no_matching():
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, required_traits=["HW_CPU_X86_AVX2"])
    assert BuildRequirements.from_spec(spec).tree_request.groups == ()


def test_groups_are_read_with_the_unsuffixed_one_first():
    spec = objects.RequestSpec.of(
        resources={"DISK_GB": 1},
        required_traits=["HW_CPU_X86_AVX2"],
        groups={"_a": {"resources": {"VGPU": 1}, "required": ["CUSTOM_X"]}},
        groups_policy="isolate",
        same_subtree=[["_a", "_b"]],
    )
    request = BuildRequirements.from_spec(spec).tree_request
    assert list(request.groups) == [
        RequestGroup("", {"DISK_GB": 1}, ("HW_CPU_X86_AVX2",)),
        RequestGroup("_a", {"VGPU": 1}, ("CUSTOM_X",)),
    ]
    assert (request.policy, request.same_subtree) == ("isolate", (("_a", "_b"),))


def test_kinds_see_extra_specs_image_and_hints():
    spec = objects.RequestSpec.of(
        resources={"VCPU": 1}, extra_specs={"k": "v"}, image={"id": "i"}, hints={"licence": "red"}
    )
    required = BuildRequirements.from_spec(spec)
    assert (required.extra_specs, required.image, required.hints) == ({"k": "v"}, {"id": "i"}, {"licence": "red"})


def test_topology_is_read_from_the_request():
    numa = {"cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [1], "memory_mb": 64}]}
    (cell,) = BuildRequirements.from_spec(objects.RequestSpec.of(resources={}, numa=numa)).topology.cells
    assert (cell.cpus, cell.pcpus, cell.memory_mb) == ((0,), (1,), 64)
