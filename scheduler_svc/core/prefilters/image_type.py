# SPDX-License-Identifier: Apache-2.0
"""Requires support for the image's disk format: Nova's require_image_type_support."""

from scheduler_svc.core.prefilters import traits
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView


def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Require COMPUTE_IMAGE_TYPE_<format> if it is a standard trait. Volumes have no format."""
    disk_format = request.image.get("disk_format")
    if not isinstance(disk_format, str):
        return request
    trait = traits.find_standard_trait(f"COMPUTE_IMAGE_TYPE_{disk_format.upper()}")
    return traits.require_traits(request, trait) if trait else request


PREFILTER = Prefilter("require_image_type_support", rewrite)
