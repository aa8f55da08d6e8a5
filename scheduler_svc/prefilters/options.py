# SPDX-License-Identifier: Apache-2.0
"""What prefilters are told by the configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Which of the prefilters that are not always wanted are; conf.prefilters tells of each."""

    limit_tenants: bool = False
    tenants_need_aggregate: bool = False
    image_types: bool = False
    isolated_aggregates: bool = False
    image_metadata: bool = False


DEFAULTS = Options()
