# SPDX-License-Identifier: Apache-2.0
"""The order of resource classes."""

from scheduler_svc.placement.model.catalogue import standard_first


def test_standard_resource_classes_come_first_in_their_own_order():
    names = ["CUSTOM_B", "DISK_GB", "CUSTOM_A", "MEMORY_MB", "VCPU"]
    assert standard_first(names) == ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "CUSTOM_B"]
