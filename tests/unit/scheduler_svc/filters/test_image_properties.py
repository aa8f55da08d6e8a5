# SPDX-License-Identifier: Apache-2.0
"""Whether a host can run an image, by what its hypervisor supports."""

import pytest

from scheduler_svc.filters.options import Options
from tests.unit.scheduler_svc.filters.cloud import passing, telling

KVM = {
    "hypervisor_version": 8_002_000,
    "supported_instances": [["x86_64", "kvm", "hvm"], ["i686", "qemu", "hvm"]],
    "cpu_info": {"maxphysaddr": {"bits": 46}},
}
XEN = {"hypervisor_version": 4_017_000, "supported_instances": [["x86_64", "xen", "xen"]]}
NODES = {**telling("kvm", facts=KVM), **telling("xen", facts=XEN), **telling("silent")}


def left(options=None, **properties):
    image = {"id": "i", "properties": properties}
    return passing("ImagePropertiesFilter", NODES, options=options or Options(), image=image)


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({}, ["kvm", "xen", "silent"]),
        ({"hw_architecture": "x86_64"}, ["kvm", "xen"]),
        ({"hw_architecture": "AMD64"}, ["kvm", "xen"]),
        ({"hw_architecture": "i386"}, ["kvm"]),
        ({"hw_architecture": "x86_64", "img_hv_type": "qemu"}, []),
        ({"img_hv_type": "xapi"}, ["xen"]),
        ({"hw_vm_mode": "pv"}, ["xen"]),
        ({"hw_vm_mode": "hv", "img_hv_type": "kvm"}, ["kvm"]),
        ({"hw_architecture": "x86_64", "img_hv_requested_version": ">=8.0"}, ["kvm"]),
        ({"hw_architecture": "x86_64", "img_hv_requested_version": ">=4.0, <8.2"}, ["xen"]),
        ({"hw_architecture": "x86_64", "img_hv_requested_version": "new"}, []),
        ({"img_hv_requested_version": ">=99"}, ["kvm", "xen", "silent"]),
        ({"hw_architecture": "x86_64", "hw_maxphysaddr_bits": 46}, ["kvm", "xen"]),
        ({"hw_architecture": "x86_64", "hw_maxphysaddr_bits": "47"}, ["xen"]),
    ],
)
def test_an_image_goes_where_it_can_run(properties, names):
    assert left(**properties) == names


def test_an_image_that_tells_no_architecture_has_the_default_one():
    assert left(Options(default_architecture="aarch64")) == []
    assert left(Options(default_architecture="aarch64"), hw_architecture="i686") == ["kvm"]


def test_facts_of_another_shape_are_no_reason_to_fail():
    nodes = {
        **telling("odd", facts={"supported_instances": [["x86_64"]], "cpu_info": "text", "hypervisor_version": "8.2"}),
        **telling("none", facts={"supported_instances": None}),
    }
    asked = {"hw_architecture": "x86_64", "img_hv_requested_version": ">=8", "hw_maxphysaddr_bits": 40}
    assert passing("ImagePropertiesFilter", nodes, image={"properties": asked}) == []
    asked.pop("img_hv_requested_version")
    assert passing("ImagePropertiesFilter", nodes, image={"properties": asked}) == ["odd"]
