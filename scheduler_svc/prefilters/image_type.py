# SPDX-License-Identifier: Apache-2.0
"""Asks for hosts that can boot the image's disk format; Nova's require_image_type_support."""

from scheduler_svc.prefilters import traits
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import Request
from scheduler_svc.table.aggregates import AggregatesSeen


def rewrite(request: Request, aggregates: AggregatesSeen) -> Request:
    """Ask for COMPUTE_IMAGE_TYPE_<format>, where there is such a trait; a volume has no format."""
    disk_format = request.image.get("disk_format")
    if not isinstance(disk_format, str):
        return request
    trait = traits.standard(f"COMPUTE_IMAGE_TYPE_{disk_format.upper()}")
    return traits.required(request, trait) if trait else request


PREFILTER = Prefilter("require_image_type_support", rewrite)
