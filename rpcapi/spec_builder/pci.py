# SPDX-License-Identifier: Apache-2.0
"""PCI devices that a flavor requests by alias, one request group each."""

from collections.abc import Mapping

import os_traits

from rpcapi.resources.groups import MAX_GROUPS, RequestGroup
from rpcapi.resources.numa.topology import DevicePolicy
from rpcapi.spec_builder import pci_aliases
from rpcapi.spec_builder.draft import REQUIRED, FlavorImageProperties, SpecDraft, parse_integer
from rpcapi.spec_builder.pci_aliases import PciAlias

DEVICE = "_pci{}"
KEY = "pci_passthrough:alias"


def translate(flavor_image: FlavorImageProperties, draft: SpecDraft, aliases: Mapping[str, PciAlias]) -> None:
    """Add a request group per device of ``pci_passthrough:alias``, a list of NAME:COUNT. Raises InvalidSpec."""
    policy = flavor_image.value("pci_numa_affinity_policy", pci_aliases.NUMA_POLICIES)
    number = 0
    for name, count in _requested_aliases(flavor_image):
        if name not in aliases:
            alias_names = ", ".join(sorted(aliases)) or "none"
            raise flavor_image.invalid(KEY, f"names unknown PCI alias {name!r}; known: {alias_names}")
        for _ in range(count):
            _add_device(draft, DEVICE.format(number), aliases[name], policy or aliases[name].numa_policy)
            number += 1


def _requested_aliases(flavor_image: FlavorImageProperties) -> list[tuple[str, int]]:
    text = flavor_image.flavor.extra_specs.get(KEY)
    requests = []
    for part in text.split(",") if text else ():
        name, colon, number = part.strip().rpartition(":")
        count = parse_integer(number.strip())
        if not colon or not name or not count or count > MAX_GROUPS:
            raise flavor_image.invalid(
                KEY, f"must be a list of NAME:COUNT with counts from 1 to {MAX_GROUPS}, not {text!r}"
            )
        requests.append((name.strip(), count))
    return requests


def _add_device(draft: SpecDraft, suffix: str, alias: PciAlias, policy: str) -> None:
    draft.add_group(RequestGroup(suffix, {alias.resource_class: 1}, required=alias.traits))
    if policy == DevicePolicy.SOCKET:
        draft.root[REQUIRED].append(os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY)
    if not draft.numa or policy == DevicePolicy.PREFERRED:
        return
    draft.numa.setdefault("devices", {})[suffix] = policy
