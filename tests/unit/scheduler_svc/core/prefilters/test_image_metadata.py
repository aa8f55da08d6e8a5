# SPDX-License-Identifier: Apache-2.0
"""Traits for the devices in image properties."""

import pytest

from scheduler_svc.core.prefilters.traits import IMAGE_METADATA
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view, server_request

AGGREGATES = aggregate_view()


@pytest.mark.parametrize(
    ("key", "value", "trait"),
    [
        ("hw_cdrom_bus", "ide", "COMPUTE_STORAGE_BUS_IDE"),
        ("hw_disk_bus", "virtio", "COMPUTE_STORAGE_BUS_VIRTIO"),
        ("hw_video_model", "qxl", "COMPUTE_GRAPHICS_MODEL_QXL"),
        ("hw_vif_model", "e1000e", "COMPUTE_NET_VIF_MODEL_E1000E"),
        ("hw_vif_model", "lan9118", "COMPUTE_NET_VIF_MODEL_LAN9118"),
        ("hw_architecture", "x86_64", "HW_ARCH_X86_64"),
        ("hw_emulation_architecture", "aarch64", "COMPUTE_ARCH_AARCH64"),
    ],
)
def test_property_requires_the_trait_of_its_value(key, value, trait):
    before = server_request({}, {key: value, "os_type": "linux"})
    assert IMAGE_METADATA.rewrite(before, AGGREGATES).root_required == (trait,)


def test_hyphens_become_underscores():
    before = server_request({}, {"hw_vif_model": "spapr-vlan"})
    assert IMAGE_METADATA.rewrite(before, AGGREGATES).root_required == ("COMPUTE_NET_VIF_MODEL_SPAPR_VLAN",)


def test_one_value_without_a_trait_drops_all_traits():
    before = server_request({}, {"hw_disk_bus": "virtio", "hw_video_model": "crayon"})
    assert IMAGE_METADATA.rewrite(before, AGGREGATES) is before


def test_properties_with_the_same_trait_require_it_once():
    before = server_request({}, {"hw_disk_bus": "scsi", "hw_cdrom_bus": "scsi"})
    assert IMAGE_METADATA.rewrite(before, AGGREGATES).root_required == ("COMPUTE_STORAGE_BUS_SCSI",)


def test_request_without_image_is_not_rewritten():
    for before in (request(), server_request()):
        assert IMAGE_METADATA.rewrite(before, AGGREGATES) is before
