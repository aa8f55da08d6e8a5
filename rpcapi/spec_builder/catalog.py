# SPDX-License-Identifier: Apache-2.0
"""Configuration of the request builder: PCI aliases, device profiles and page sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rpcapi.spec_builder.device_profiles import DeviceProfile
from rpcapi.spec_builder.pci import PciAlias

LARGE_PAGE_KB = 2048


@dataclass(frozen=True, slots=True)
class Catalog:
    aliases: Mapping[str, PciAlias] = field(default_factory=dict)
    profiles: Mapping[str, DeviceProfile] = field(default_factory=dict)
    large_page_kb: int = LARGE_PAGE_KB


EMPTY = Catalog()
