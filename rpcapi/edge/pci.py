# SPDX-License-Identifier: Apache-2.0
"""PCI devices that a flavor asks for by alias: a request group each."""

from collections.abc import Mapping

import os_traits

from rpcapi.edge.asked import Asked, integer
from rpcapi.edge.draft import REQUIRED, Draft
from rpcapi.model import pci
from rpcapi.model.checks.groups import MAX_GROUPS
from rpcapi.model.groups import RequestGroup
from rpcapi.model.pci import Alias

DEVICE = "_pci{}"
KEY = "pci_passthrough:alias"


def translate(asked: Asked, draft: Draft, aliases: Mapping[str, Alias]) -> None:
    """Add a group for each device of ``pci_passthrough:alias``, a list of NAME:COUNT.

    One group a device, as in Nova: two functions may come from one device or from two. Where the guest has a topology,
    ``numa`` says how near each device must be. Raises InvalidSpec for what is no such list, and for unknown aliases.
    """
    policy = _policy(asked)
    number = 0
    for name, count in _wanted(asked):
        if name not in aliases:
            known = ", ".join(sorted(aliases)) or "none"
            raise asked.refuse(KEY, f"names PCI alias {name!r}, which is not there; known: {known}")
        for _ in range(count):
            _add(draft, DEVICE.format(number), aliases[name], policy or aliases[name].numa_policy)
            number += 1


def _policy(asked: Asked) -> str | None:
    return asked.one("pci_numa_affinity_policy", pci.NUMA_POLICIES)


def _wanted(asked: Asked) -> list[tuple[str, int]]:
    text = asked.flavor.extra_specs.get(KEY)
    found = []
    for each in text.split(",") if text else ():
        name, colon, number = each.strip().rpartition(":")
        count = integer(number.strip())
        if not colon or not name or not count or count > MAX_GROUPS:
            raise asked.refuse(KEY, f"must be a list of NAME:COUNT with counts from 1 to {MAX_GROUPS}, not {text!r}")
        found.append((name.strip(), count))
    return found


def _add(draft: Draft, suffix: str, alias: Alias, policy: str) -> None:
    draft.add(RequestGroup(suffix, {alias.resource_class: 1}, required=alias.traits))
    if policy == pci.SOCKET:
        draft.root[REQUIRED].append(os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY)
    if not draft.numa or policy == pci.PREFERRED:
        return
    draft.numa.setdefault("devices", {})[suffix] = policy
    cells = draft.numa["cells"]
    if policy == pci.REQUIRED and len(cells) == 1:
        # With one cell the tree itself can say it, and the search prunes by it.
        draft.same_subtree.append([cells[0]["group"], suffix])
