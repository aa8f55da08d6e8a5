# SPDX-License-Identifier: Apache-2.0
"""What a cloud's names stand for: the configuration that a translation looks things up in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rpcapi.edge.devices import Profile
from rpcapi.model.pci import Alias

LARGE_PAGE_KB = 2048


@dataclass(frozen=True, slots=True)
class Catalog:
    """PCI aliases and device profiles by name, and the size of the pages that "large" means."""

    aliases: Mapping[str, Alias] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    large_page_kb: int = LARGE_PAGE_KB


EMPTY = Catalog()
