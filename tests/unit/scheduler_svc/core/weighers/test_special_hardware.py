# SPDX-License-Identifier: Apache-2.0
"""Special hardware of each host that a request does not ask for."""

import dataclasses

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers.special_hardware import WEIGHER
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

SIZES = {"VCPU": 10, "MEMORY_MB": 1000}
PLAIN = node(SIZES)
SSD = node(SIZES, traits=["CUSTOM_SSD"])
GPU = node({**SIZES, "VGPU": 4}, traits=["CUSTOM_SSD", "HW_GPU_API_VULKAN"])
NODES = {"plain": PLAIN, "ssd": SSD, "gpu": GPU, **{f"h{number}": PLAIN for number in range(4)}}


def numbers(nodes=NODES, **request_fields):
    values = raw_values(WEIGHER, nodes, **{"resources": {"VCPU": 1}, **request_fields})
    return values and values[:3]


@pytest.mark.parametrize(
    ("request_fields", "expected"),
    [
        ({}, [0, -1, -3]),
        ({"required_traits": ("CUSTOM_SSD",)}, [0, 0, -2]),
        ({"root_required": ("CUSTOM_SSD",)}, [0, 0, -2]),
        ({"any_traits": (("CUSTOM_SSD", "HW_GPU_API_VULKAN"),)}, [0, 0, -1]),
        ({"resources": {"VCPU": 1, "VGPU": 1}}, [0, -1, -2]),
        ({"groups": (RequestGroup("1", {"VGPU": 1}, ("HW_GPU_API_VULKAN",), (("CUSTOM_SSD",),)),)}, [0, 0, 0]),
    ],
)
def test_classes_and_traits_count_unless_requested(request_fields, expected):
    assert (numbers(**request_fields) or [0, 0, 0]) == expected


def test_nothing_is_special_that_more_than_a_third_of_the_hosts_has():
    nodes = {**NODES, "h0": SSD}
    assert numbers(nodes) == [0, 0, -2]
    assert numbers({"plain": PLAIN, "ssd": SSD}) is None
    assert numbers({"plain": PLAIN, "ssd": SSD, "h0": PLAIN}) == [0, -1, 0]


def test_processor_generations_and_drivers_are_not_special():
    assert numbers({**NODES, "ssd": node(SIZES, traits=["HW_CPU_X86_AVX512F", "COMPUTE_RESCUE_BFV"])}) == [0, 0, -3]


def test_devices_below_a_host_are_its_own_and_those_of_sharing_providers_are_not():
    device = node({"CUSTOM_FPGA": 1}, traits=["CUSTOM_FAST"]) | {"root": "ssd", "parent": "ssd"}
    pool = node({"DISK_GB": 10}, traits=["MISC_SHARES_VIA_AGGREGATE"]) | {"aggregates": ["near"], "kind": "volume"}
    nodes = {**NODES, "plain": PLAIN | {"aggregates": ["near"]}, "ssd/fpga": device, "pool": pool}
    assert numbers(nodes) == [0, -3, -3]


def test_changes_of_hosts_count_at_once():
    with_states = dataclasses.replace(hosts.snapshot(NODES))
    table = HostTable.from_snapshot(with_states, reads=WEIGHER.reads)

    def current():
        with table.reading() as view:
            values = WEIGHER.raw(view, request({"VCPU": 1}))
            return None if values is None else [float(values[view.row(name)]) for name in ("plain", "ssd", "gpu")]

    assert current() == [0, -1, -3]
    position = table.partitions[0].position
    changes = [("ssd", PLAIN), ("gpu", None), ("plain", SSD)]
    for number, (name, changed) in enumerate(changes, position + 1):
        document = changed and {**with_states.providers[name], **changed}
        table.apply(LogEntry(number, "provider", {name: document}))
    assert current() == [-1, 0, 0]
