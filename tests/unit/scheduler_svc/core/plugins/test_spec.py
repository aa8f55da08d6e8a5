# SPDX-License-Identifier: Apache-2.0
"""The spec_obj of Nova-style plugins."""

import pytest

from scheduler_svc.core.plugins.host_state import PluginRequestSpec
from tests.support.scheduler.hosts import request

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
