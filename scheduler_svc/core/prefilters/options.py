# SPDX-License-Identifier: Apache-2.0
"""Options of prefilters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrefilterOptions:
    """Options of prefilters; see conf.prefilters.

    Attributes:
        nova_enabled: The hosts are Nova's.
        default_zone: Nova's zone of hosts in no aggregate with a zone.
    """

    limit_tenants: bool = False
    tenants_need_aggregate: bool = False
    image_types: bool = False
    isolated_aggregates: bool = False
    image_metadata: bool = False
    nova_enabled: bool = False
    default_zone: str = "nova"


DEFAULTS = PrefilterOptions()
