# SPDX-License-Identifier: Apache-2.0
"""Boot images and their properties."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rpcapi import errors

# Former property names that Nova still accepts.
RENAMED = {
    "architecture": "hw_architecture",
    "auto_disk_config": "hw_auto_disk_config",
    "bdm_v2": "img_bdm_v2",
    "block_device_mapping": "img_block_device_mapping",
    "cache_in_nova": "img_cache_in_nova",
    "hypervisor_type": "img_hv_type",
    "hypervisor_version_requires": "img_hv_requested_version",
    "ipxe_boot": "hw_ipxe_boot",
    "mappings": "img_mappings",
    "owner_id": "img_owner_id",
    "root_device_name": "img_root_device_name",
    "vm_mode": "hw_vm_mode",
}


@dataclass(frozen=True, slots=True)
class Image:
    """Boot image with Glance's ``properties`` (traits, hw_*, img_* and os_* count) and minimum flavor sizes."""

    name: str
    id: str = ""
    disk_format: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    min_ram_mb: int = 0
    min_disk_gb: int = 0

    def with_properties(self, properties: Mapping[str, str]) -> "Image":
        return replace(self, properties={**self.properties, **properties})

    def without_minimum(self) -> "Image":
        return replace(self, min_ram_mb=0, min_disk_gb=0)

    def as_dict(self) -> dict[str, Any]:
        """Return the form of RequestSpec.image, with current property names."""
        fields = {
            "id": self.id or self.name or None,
            "name": self.name or None,
            "disk_format": self.disk_format,
            "properties": {RENAMED.get(key, key): value for key, value in self.properties.items()} or None,
            "min_ram_mb": self.min_ram_mb or None,
            "min_disk_gb": self.min_disk_gb or None,
        }
        return {key: value for key, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Image":
        return cls(**{"name": "", **fields}) if fields else NO_IMAGE


NO_IMAGE = Image("")


def find(images: Mapping[str, Image], name: str) -> Image:
    if name in images:
        return images[name]
    for other in images:
        with contextlib.suppress(errors.BadConfiguration):  # an invalid image of the configuration
            if images[other].id == name:
                return images[other]
    raise errors.UnknownImage(name=name, choices=", ".join(sorted(images)) or "none")
