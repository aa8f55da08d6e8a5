# SPDX-License-Identifier: Apache-2.0
"""Options of prefilters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrefilterOptions:
    """Options of prefilters; see conf.prefilters.

    Attributes:
        accelerators: Some hosts attach accelerators, for flavors with a device profile.
        default_zone: Zone of hosts in no aggregate with a zone; None: zones are not aggregates, but reported by hosts.
    """

    limit_tenants: bool = False
    tenants_need_aggregate: bool = False
    image_types: bool = False
    isolated_aggregates: bool = False
    image_metadata: bool = False
    accelerators: bool = False
    default_zone: str | None = None


DEFAULTS = PrefilterOptions()
