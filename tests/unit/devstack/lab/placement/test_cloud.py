# SPDX-License-Identifier: Apache-2.0
"""The providers of the benchmark: what both sides are filled with."""

from devstack.lab.placement.cloud import DEVICE, DEVICE_HOSTS, DEVICES, FLAVOR, TRAITS_PER_HOST, Cloud


def test_hosts_are_half_full_and_devices_are_below_their_hosts():
    cloud = Cloud(7)
    providers = cloud.providers()
    assert len({provider["uuid"] for provider in providers}) == len(providers) == cloud.size
    by_uuid = {provider["uuid"]: provider for provider in providers}
    for uuid in cloud.flat:
        host = by_uuid[uuid]
        assert len(set(host["traits"])) == TRAITS_PER_HOST
        for name in FLAVOR:
            inventory = host["inventories"][name]
            assert host["used"][name] * 2 == inventory["total"] * inventory["allocation_ratio"]
    devices = [provider for provider in providers if DEVICE in provider["inventories"]]
    assert len(devices) == DEVICE_HOSTS * DEVICES
    assert all(providers.index(by_uuid[device["parent"]]) < providers.index(device) for device in devices)
    assert providers == Cloud(7).providers()
