# SPDX-License-Identifier: Apache-2.0
"""Asks for hosts that have the devices that the image wants; Nova's transform_image_metadata."""

from collections.abc import Mapping

from scheduler_svc.prefilters import traits
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import Request
from scheduler_svc.table.aggregates import AggregatesSeen

# The property, and the beginning of the traits of its values.
PREFIXES: Mapping[str, str] = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
    "hw_architecture": "HW_ARCH",
    "hw_emulation_architecture": "COMPUTE_ARCH",
    "hw_viommu_model": "COMPUTE_VIOMMU",
}


def rewrite(request: Request, aggregates: AggregatesSeen) -> Request:
    """Ask for the trait of each property's value; for none where one of them has no trait, as Nova does."""
    properties = request.image.get("properties", {})
    wanted = [(prefix, str(properties[key])) for key, prefix in PREFIXES.items() if key in properties]
    found = [traits.standard(f"{prefix}_{value.replace('-', '_').upper()}") for prefix, value in wanted]
    known = [trait for trait in found if trait]
    return traits.required(request, *known) if len(known) == len(wanted) else request


PREFILTER = Prefilter("transform_image_metadata", rewrite)
