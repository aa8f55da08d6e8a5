# SPDX-License-Identifier: Apache-2.0
"""Computes of both sides: their names, and their providers as nova-compute would write them."""

from typing import Any

from devstack.lab.hosts import stable_uuid
from devstack.lab.placement.cloud import make_provider, whole

TOTAL = {"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 4_000}
# Traits that nova-compute 34 reports for a hypervisor, with the one by which Nova finds its own providers.
TRAITS = (
    "COMPUTE_ACCELERATORS",
    "COMPUTE_ADDRESS_SPACE_EMULATED",
    "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_IMAGE_TYPE_ISO",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_MEM_BACKING_FILE",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "COMPUTE_NODE",
    "COMPUTE_REMOTE_MANAGED_PORTS",
    "COMPUTE_SECURITY_STATELESS_FIRMWARE",
    "COMPUTE_STORAGE_VIRTIO_FS",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
    "HW_CPU_X86_AVX",
    "HW_CPU_X86_AVX2",
    "HW_CPU_X86_SSE42",
    "OWNER_NOVA",
)


def names(first: int, end: int) -> list[str]:
    """Return the names of computes, each with one node of the same name."""
    return [f"lab{number}" for number in range(first, end)]


def provider(name: str) -> dict[str, Any]:
    inventories = {resource_class: whole(total) for resource_class, total in TOTAL.items()}
    return make_provider(stable_uuid(name), inventories, TRAITS)
