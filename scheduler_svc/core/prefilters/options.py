# SPDX-License-Identifier: Apache-2.0
"""The configured options of prefilters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrefilterOptions:
    """Which optional prefilters are enabled; conf.prefilters describes each. ``nova_enabled``: the hosts are Nova's."""

    limit_tenants: bool = False
    tenants_need_aggregate: bool = False
    image_types: bool = False
    isolated_aggregates: bool = False
    image_metadata: bool = False
    nova_enabled: bool = False


DEFAULTS = PrefilterOptions()
