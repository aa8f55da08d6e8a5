# SPDX-License-Identifier: Apache-2.0
"""CPU policies, masks, thread policies and emulator threads of flavors and images."""

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.flavors import Flavor
from tests.unit.rpcapi.spec_builder.plain_request import ALL, DISK, PINNED, PINS, PLAIN, cell, group, numa, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "pinned amounts of a group": (
        {"resources1:PCPU": "2"},
        {},
        {"resources": {"MEMORY_MB": 4096, "DISK_GB": 10}, "groups": {"1": {"resources": {"PCPU": 2}}}, "numa": {}},
    ),
    "pinned": (
        {"hw:cpu_policy": "dedicated"},
        {},
        {"resources": DISK, "groups": PINS, "numa": numa(PINNED, policy="dedicated")},
    ),
    "pinned by the image": ({}, {"hw_cpu_policy": "dedicated"}, {"numa": numa(PINNED, policy="dedicated")}),
    "a flavor that pins wins over an image that shares": (
        {"hw:cpu_policy": "dedicated"},
        {"hw_cpu_policy": "shared"},
        {"numa": numa(PINNED, policy="dedicated")},
    ),
    "pinned by PCPU": ({"resources:PCPU": "4"}, {}, {"groups": PINS, "numa": numa(PINNED, policy="dedicated")}),
    "pinned by PCPU, and VCPU taken back": (
        {"resources:PCPU": "4", "resources:VCPU": "0"},
        {},
        {"resources": DISK, "groups": PINS},
    ),
    "shared by name": ({"hw:cpu_policy": "shared"}, {}, {"resources": PLAIN, "numa": {}}),
    "mixed": (
        {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0-1"},
        {},
        {
            "groups": {"_numa0": group(VCPU=2, PCPU=2, MEMORY_MB=4096)},
            "numa": numa(cell(0, ALL, [2, 3], 4096), policy="mixed"),
        },
    ),
    "mixed by a realtime mask": (
        {"hw:cpu_policy": "mixed", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "1"},
        {},
        {"numa": numa(cell(0, ALL, [1], 4096), policy="mixed")},
    ),
    "threads beside each other": (
        {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require"},
        {},
        {
            "groups": {"_numa0": PINS["_numa0"] | {"required": ["HW_NUMA_ROOT", "HW_CPU_HYPERTHREADING"]}},
            "numa": numa(PINNED, policy="dedicated", threads="require"),
        },
    ),
    "no threads, by the image": (
        {"hw:cpu_policy": "dedicated"},
        {"hw_cpu_thread_policy": "isolate"},
        {
            "groups": {"_numa0": PINS["_numa0"] | {"forbidden": ["HW_CPU_HYPERTHREADING"]}},
            "numa": numa(PINNED, policy="dedicated", threads="isolate"),
        },
    ),
    "a flavor that prefers threads goes before its image": (
        {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "prefer"},
        {"hw_cpu_thread_policy": "require"},
        {"numa": numa(PINNED, policy="dedicated", threads="prefer")},
    ),
    "threads by trait": (
        {"hw:cpu_policy": "dedicated", "trait:HW_CPU_HYPERTHREADING": "required"},
        {},
        {"numa": numa(PINNED, policy="dedicated", threads="require")},
    ),
    "isolated emulator threads": (
        {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
        {},
        {
            "groups": {"_numa0": group(PCPU=5, MEMORY_MB=4096)},
            "numa": numa(PINNED, policy="dedicated", emulator_threads="isolate"),
        },
    ),
}

CONTRADICTIONS = [
    ({"hw:cpu_policy": "mine"}, {}, "must be one of shared, dedicated, mixed"),
    ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}, "does not allow this image value"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}, {"hw_cpu_policy": "dedicated"}, "does not allow this"),
    ({"hw:cpu_policy": "mixed"}, {}, "exactly one of hw:cpu_dedicated_mask and hw:cpu_realtime_mask"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-3"}, {}, "must pin at least one cpu, but not all"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "9"}, {}, "contains cpus beyond the 4"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_dedicated_mask": "0"}, {}, "needs hw:cpu_policy 'mixed'"),
    ({"hw:cpu_policy": "dedicated", "resources:PCPU": "4"}, {}, "cannot be combined with resources:VCPU or"),
    ({"resources:VCPU": "2", "resources:PCPU": "4"}, {}, "cannot be combined with resources:VCPU"),
    ({"resources:PCPU": "3"}, {}, "must be 4, the number of cpus to pin"),
    ({"hw:cpu_thread_policy": "require"}, {}, "needs pinned cpus"),
    ({"hw:emulator_threads_policy": "isolate"}, {}, "needs pinned cpus"),
    ({"hw:cpu_realtime": "true", "hw:cpu_realtime_mask": "^0"}, {}, "needs pinned cpus"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "true"}, {}, "and not all cpus unless"),
    (
        {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"},
        {"hw_cpu_thread_policy": "require"},
        "does not allow",
    ),
    (
        {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate", "trait:HW_CPU_HYPERTHREADING": "required"},
        {},
        "cannot be combined with hw:cpu_thread_policy",
    ),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_cpu_policies_are_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


def test_flavor_without_topology_may_have_any_number_of_cpus():
    assert build_spec(Flavor("f", MAX_AMOUNT, 1, 0)).resources == {"VCPU": MAX_AMOUNT, "MEMORY_MB": 1}


@pytest.mark.parametrize(
    "extra_specs",
    [
        {"hw:cpu_policy": "dedicated"},
        {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"},
        {"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"},
        {"hw:numa_nodes": "1"},
        {"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "1"},
    ],
)
def test_topology_of_too_many_cpus_is_refused_before_they_are_numbered(extra_specs):
    with pytest.raises(errors.InvalidSpec, match=f"has {MAX_AMOUNT} cpus; a guest with pinned .* at most 1024"):
        build_spec(Flavor("f", MAX_AMOUNT, 1, 0, extra_specs))
