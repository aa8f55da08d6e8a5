# SPDX-License-Identifier: Apache-2.0
"""Options of prefilters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrefilterOptions:
    """Options of prefilters; see conf.prefilters."""

    limit_tenants: bool = False
    tenants_need_aggregate: bool = False
    image_types: bool = False
    isolated_aggregates: bool = False
    image_metadata: bool = False
    accelerators: bool = False  # some hosts attach accelerators, for flavors with a device profile
    default_zone: str | None = None  # zone of hosts in no aggregate with a zone; None: zones are reported by hosts


DEFAULTS = PrefilterOptions()
