# SPDX-License-Identifier: Apache-2.0
"""Images: what servers boot from, and what their properties ask of a host."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rpcapi import errors

# Names that properties had once, as Nova still reads them.
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
    """What a server boots from; ``properties`` as in Glance: texts, of which traits and hw_*, img_* and os_* are read.

    ``min_ram_mb`` and ``min_disk_gb`` are what a flavor must have for it to boot.
    """

    name: str
    id: str = ""
    disk_format: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    min_ram_mb: int = 0
    min_disk_gb: int = 0

    def with_properties(self, properties: Mapping[str, str]) -> "Image":
        """Return it with these properties beside, or in place of, its own."""
        return replace(self, properties={**self.properties, **properties})

    def as_dict(self) -> dict[str, Any]:
        """Return the form that a RequestSpec carries, its properties under the names that they have today."""
        told = {
            "id": self.id or self.name or None,
            "name": self.name or None,
            "disk_format": self.disk_format,
            "properties": {RENAMED.get(key, key): value for key, value in self.properties.items()} or None,
        }
        return {key: value for key, value in told.items() if value is not None}


NO_IMAGE = Image("")


def find(images: Mapping[str, Image], name: str) -> Image:
    """Return the image of that name or id; raises UnknownImage, which names those that there are."""
    if name in images:
        return images[name]
    for image in images.values():
        if image.id == name:
            return image
    raise errors.UnknownImage(name=name, known=", ".join(sorted(images)) or "none")
