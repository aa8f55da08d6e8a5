# SPDX-License-Identifier: Apache-2.0
"""The host_state and the spec_obj of Nova-style plugins."""

import dataclasses

import pytest

from scheduler_svc.core.plugins.host_state import READS, PluginHostState, PluginRequestSpec
from scheduler_svc.core.reads import union
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

FACTS = {"hypervisor_type": "QEMU", "hypervisor_version": 8002000, "cpu_info": {"model": "x"}, "rack": "r1"}
NODES = {
    "a/n1": node(
        {"VCPU": 8, "PCPU": 4, "MEMORY_MB": 1000, "DISK_GB": 20},
        ["CUSTOM_A"],
        "az1",
        {"instances": 3, "heat": 40, "noise": 1},
    )
    | {"facts": FACTS, "host_ip": "10.0.0.1"},
    "b": node({}),
}
USED = {"a/n1": {"VCPU": 3, "PCPU": 1, "MEMORY_MB": 1200, "DISK_GB": 5}}
AGGREGATES = {"y": {"hosts": ["a"], "metadata": {"k": "v"}}, "x": {"hosts": ["a"]}, "z": {"hosts": ["b"]}}
PLUGIN_READS = union([READS, {"compute": frozenset({"metrics.heat"})}])


@pytest.fixture
def states():
    """Host states of both nodes; the service of "b" is disabled and down."""
    snapshot = dataclasses.replace(hosts.snapshot(NODES, USED), states={"aggregate": AGGREGATES})
    snapshot = dataclasses.replace(
        snapshot, services={"a": {"enabled": True}, "b": {"enabled": False}}, alive={"a": True, "b": False}
    )
    all_reads = union([PLUGIN_READS, {"compute": frozenset({"metrics.noise"})}])
    with HostTable.from_snapshot(snapshot, reads=all_reads).reading() as view:
        yield {name: PluginHostState(view, view.row(name), PLUGIN_READS) for name in NODES}


def test_names_of_host_and_node(states):
    assert [(state.name, state.host, state.nodename, state.hypervisor_hostname) for state in states.values()] == [
        ("a/n1", "a", "n1", "n1"),
        ("b", "b", "b", "b"),
    ]


def test_amounts_in_novas_units(states):
    state = states["a/n1"]
    assert (state.vcpus_total, state.vcpus_used) == (12, 4)
    assert (state.total_usable_ram_mb, state.free_ram_mb) == (1000, -200)
    assert (state.total_usable_disk_gb, state.free_disk_mb, state.disk_mb_used) == (20, 15 * 1024, 5 * 1024)
    assert (state.capacity("PCPU"), state.used("PCPU"), state.free("PCPU"), state.free("VGPU")) == (4, 1, 3, 0)


def test_ratios_are_1_because_capacities_include_them(states):
    state = states["b"]
    assert (state.ram_allocation_ratio, state.cpu_allocation_ratio, state.disk_allocation_ratio) == (1.0, 1.0, 1.0)


def test_metrics_are_those_in_the_plugins_reads(states):
    assert states["a/n1"].metrics == {"instances": 3.0, "heat": 40.0}
    assert states["b"].metrics == {}
    assert [(state.num_instances, state.num_io_ops, state.failed_builds) for state in states.values()] == [
        (3, 0, 0),
        (0, 0, 0),
    ]


def test_traits_aggregates_and_zone(states):
    state = states["a/n1"]
    assert state.traits == {"CUSTOM_A"}
    assert [(aggregate.name, aggregate.metadata) for aggregate in state.aggregates] == [("x", {}), ("y", {"k": "v"})]
    assert (state.availability_zone, states["b"].availability_zone) == ("az1", None)


def test_service_is_described_as_in_nova(states):
    assert states["a/n1"].service == {"disabled": False, "up": True}
    assert states["b"].service == {"disabled": True, "up": False}


def test_facts_have_attributes_of_their_own_in_nova(states):
    state = states["a/n1"]
    assert (state.hypervisor_type, state.hypervisor_version, state.cpu_info) == ("QEMU", 8002000, {"model": "x"})
    assert (state.supported_instances, state.facts["rack"], state.host_ip) == (None, "r1", "10.0.0.1")
    assert (states["b"].facts, states["b"].host_ip, states["b"].hypervisor_type) == ({}, None, None)


def test_changed_answers_leave_the_table_unchanged(states):
    state = states["a/n1"]
    state.facts["rack"] = "r2"
    state.traits.add("CUSTOM_B")
    state.aggregates[1].metadata["k"] = "w"
    assert (state.facts["rack"], state.traits, state.aggregates[1].metadata) == ("r1", {"CUSTOM_A"}, {"k": "v"})


REQUEST = request(
    {"VCPU": 2, "PCPU": 4, "MEMORY_MB": 512, "DISK_GB": 10, "VGPU": 1},
    project="p",
    user="u",
    availability_zone="az1",
    force_hosts=("h1",),
    ignore_hosts=("h2", "h3"),
    hints={"one": ["x"], "two": ["x", "y"], "text": "z", "none": []},
    flavor="m1",
    extra_specs={"hw:cpu_policy": "mixed"},
    image={"id": "i1", "properties": {"os_type": "linux"}},
)


def test_flavor_has_the_requested_resources():
    flavor = PluginRequestSpec(REQUEST).flavor
    assert (flavor.name, flavor.vcpus, flavor.memory_mb, flavor.root_gb) == ("m1", 6, 512, 10)
    assert (flavor.ephemeral_gb, flavor.swap, flavor.extra_specs) == (0, 0, {"hw:cpu_policy": "mixed"})


def test_request_has_novas_names():
    spec = PluginRequestSpec(REQUEST)
    assert (spec.request_id, spec.project_id, spec.user_id, spec.num_instances) == ("req-1", "p", "u", 1)
    assert (spec.availability_zone, spec.force_hosts, spec.ignore_hosts) == ("az1", ["h1"], ["h2", "h3"])
    assert (spec.image.id, spec.image.properties) == ("i1", {"os_type": "linux"})
    assert spec.request is REQUEST


@pytest.mark.parametrize(
    ("name", "hint"), [("one", "x"), ("two", ["x", "y"]), ("text", "z"), ("none", []), ("absent", "default")]
)
def test_hint_in_a_list_of_one_is_unwrapped(name, hint):
    assert PluginRequestSpec(REQUEST).get_scheduler_hint(name, "default") == hint


def test_request_without_flavor_and_image_has_empty_ones():
    spec = PluginRequestSpec(request({}))
    assert (spec.flavor.name, spec.flavor.vcpus, spec.flavor.memory_mb, spec.flavor.root_gb) == (None, 0, 0, 0)
    assert (spec.image.id, spec.image.properties) == (None, {})
    assert spec.get_scheduler_hint("absent") is None
