# SPDX-License-Identifier: Apache-2.0
"""Flavors: named server sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import os_resource_classes as orc

from rpcapi import errors


@dataclass(frozen=True, slots=True)
class Flavor:
    """Server size; an amount of 0 is not requested. docs/requests.md describes ``extra_specs`` (strings)."""

    name: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    extra_specs: Mapping[str, str] = field(default_factory=dict)

    @property
    def amounts(self) -> dict[str, int]:
        """Amounts by resource class, before extra specs replace them."""
        return {orc.VCPU: self.vcpus, orc.MEMORY_MB: self.memory_mb, orc.DISK_GB: self.disk_gb}


BUILT_IN = {
    flavor.name: flavor
    for flavor in (
        Flavor("m1.tiny", vcpus=1, memory_mb=512, disk_gb=1),
        Flavor("m1.small", vcpus=1, memory_mb=2048, disk_gb=20),
        Flavor("m1.medium", vcpus=2, memory_mb=4096, disk_gb=40),
        Flavor("m1.large", vcpus=4, memory_mb=8192, disk_gb=80),
        Flavor("m1.xlarge", vcpus=8, memory_mb=16384, disk_gb=160),
    )
}


def find(flavors: Mapping[str, Flavor], name: str) -> Flavor:
    try:
        return flavors[name]
    except KeyError:
        raise errors.UnknownFlavor(name=name, choices=", ".join(sorted(flavors))) from None
