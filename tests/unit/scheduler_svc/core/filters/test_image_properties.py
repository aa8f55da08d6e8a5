# SPDX-License-Identifier: Apache-2.0
"""ImagePropertiesFilter: images match the instances that a hypervisor supports."""

import pytest

from scheduler_svc.core.matching.options import FilterOptions
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

KVM = {
    "hypervisor_version": 8_002_000,
    "supported_instances": [["x86_64", "kvm", "hvm"], ["i686", "qemu", "hvm"]],
    "cpu_info": {"maxphysaddr": {"bits": 46}},
}
XEN = {"hypervisor_version": 4_017_000, "supported_instances": [["x86_64", "xen", "xen"]]}
NODES = {**make_nodes("kvm", facts=KVM), **make_nodes("xen", facts=XEN), **make_nodes("silent")}


def passing(options=None, **properties):
    image = {"id": "i", "properties": properties}
    return passing_hosts("ImagePropertiesFilter", NODES, options=options or FilterOptions(), image=image)


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
        ({"hw_architecture": "x86_64", "hw_maxphysaddr_bits": "9" * 5000}, ["xen"]),
    ],
)
def test_hosts_that_support_the_image_pass(properties, names):
    assert passing(**properties) == names


@pytest.mark.parametrize("version", [-1, -(10**400), 10**400, float("inf"), float("-inf"), float("nan")])
def test_version_that_no_hypervisor_has_meets_no_requirement(version):
    nodes = make_nodes("odd", facts={**KVM, "hypervisor_version": version})
    image = {"id": "i", "properties": {"hw_architecture": "x86_64", "img_hv_requested_version": ">=1"}}
    assert passing_hosts("ImagePropertiesFilter", nodes, options=FilterOptions(), image=image) == []


def test_default_architecture_applies_to_images_without_one():
    assert passing(FilterOptions(default_architecture="aarch64")) == []
    assert passing(FilterOptions(default_architecture="aarch64"), hw_architecture="i686") == ["kvm"]


def test_facts_that_are_null_are_not_checked():
    nodes = {
        **make_nodes("bare", facts={"supported_instances": [["x86_64"]], "cpu_info": None, "hypervisor_version": None}),
        **make_nodes("none", facts={"supported_instances": None}),
    }
    properties = {"hw_architecture": "x86_64", "img_hv_requested_version": ">=8", "hw_maxphysaddr_bits": 40}
    assert passing_hosts("ImagePropertiesFilter", nodes, image={"properties": properties}) == ["bare"]
