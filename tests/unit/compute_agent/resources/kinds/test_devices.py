# SPDX-License-Identifier: Apache-2.0
"""Accelerators, divided into parts."""

import pytest

from rpcapi import errors
from tests.support.agent.machines import node

HEAD = "[compute]\nhosts = alpha\n[shape:x]\nvcpus = 8\nmemory_mb = 1024\nnuma_cells = 2\n"


def children(devices, group):
    shape = node(f"{HEAD}devices = {devices}\n[device:gpu]\n{group}").shape
    return {child.path: child for child in shape.child_providers if "gpu" in child.path}


def test_devices_are_numbered_and_below_their_cell():
    found_devices = children("gpu:2@1,gpu:1", "resource_class = VGPU\ninstances = 3\ntraits = CUSTOM_A100\n")
    assert {path: child.parent for path, child in found_devices.items()} == {
        "numa1/gpu-0": "numa1",
        "numa1/gpu-1": "numa1",
        "gpu-2": "",
    }
    for child in found_devices.values():
        assert child.traits == ("CUSTOM_A100",)
        # a guest may have all parts of one device, but not of several
        assert (child.inventories["VGPU"].total, child.inventories["VGPU"].max_unit) == (3, 3)


def test_shape_without_devices_has_no_such_kind():
    assert "device" not in [kind.name for kind in node(HEAD).shape.kinds]


def test_group_without_resource_class_is_rejected():
    with pytest.raises(errors.BadConfiguration, match=r"\[device:gpu\] has no resource_class"):
        children("gpu:1", "instances = 2\n")
