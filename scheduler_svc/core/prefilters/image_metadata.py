# SPDX-License-Identifier: Apache-2.0
"""Requires traits for the devices in the image properties: Nova's transform_image_metadata."""

from collections.abc import Mapping

from scheduler_svc.core.prefilters import traits
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView

# Image property -> prefix of the traits of its values.
PREFIXES: Mapping[str, str] = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
    "hw_architecture": "HW_ARCH",
    "hw_emulation_architecture": "COMPUTE_ARCH",
    "hw_viommu_model": "COMPUTE_VIOMMU",
}


def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Require the trait of each property value; none at all if a value has no trait, as Nova does."""
    properties = request.image.get("properties", {})
    values = [(prefix, str(properties[key])) for key, prefix in PREFIXES.items() if key in properties]
    standard_traits = [
        traits.find_standard_trait(f"{prefix}_{value.replace('-', '_').upper()}") for prefix, value in values
    ]
    required = [trait for trait in standard_traits if trait]
    return traits.require_traits(request, *required) if len(required) == len(values) else request


PREFILTER = Prefilter("transform_image_metadata", rewrite)
