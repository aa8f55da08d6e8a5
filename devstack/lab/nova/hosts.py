# SPDX-License-Identifier: Apache-2.0
"""Computes of both sides: their names, and their providers as nova-compute would write them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class LabHost:
    """Compute with one node of the same name."""

    number: int

    @property
    def name(self) -> str:
        return f"lab{self.number}"

    @property
    def uuid(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"gantt-lab nova {self.name}"))

    def provider(self) -> dict[str, Any]:
        return make_provider(self.uuid, {name: whole(total) for name, total in TOTAL.items()}, TRAITS)


def hosts(first: int, end: int) -> Sequence[LabHost]:
    return [LabHost(number) for number in range(first, end)]
