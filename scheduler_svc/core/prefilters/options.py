# SPDX-License-Identifier: Apache-2.0
"""Options of prefilters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrefilterOptions:
    """Configured prefilters; see scheduler_svc.conf.prefilters."""

    limit_tenants: bool = False
    tenants_need_aggregate: bool = False
    image_types: bool = False
    isolated_aggregates: bool = False
    image_metadata: bool = False
    accelerators: bool = False  # Flavors with a device profile need hosts that attach accelerators.
    default_zone: str | None = None  # zone of hosts in no aggregate with a zone; None if hosts report their zones


DEFAULTS = PrefilterOptions()
