# SPDX-License-Identifier: Apache-2.0
"""Heat map data as columns, which take a few hundred kilobytes for 10,000 hosts."""

from collections.abc import Sequence
from typing import Any

from rpcapi.dashboard.host_list import STATES, Amounts, Host

NONE = Amounts(0, 0)
UNGROUPED = "-"  # hosts without zone or aggregate


def document(hosts: Sequence[Host], resource_class: str, group_by: str) -> dict[str, Any]:
    """Return columns by host, and host indexes by ``group_by``: zone, aggregate, partition, or "" for one group."""
    amounts = [host.amounts.get(resource_class, NONE) for host in hosts]
    groups: dict[str, list[int]] = {}
    for place, host in enumerate(hosts):
        for group in _groups(host, group_by):
            groups.setdefault(group, []).append(place)
    return {
        "class": resource_class,
        "states": STATES,
        "names": [host.name for host in hosts],
        "state": [STATES.index(host.state) for host in hosts],
        "used": [item.used for item in amounts],
        "capacity": [item.capacity for item in amounts],
        "groups": [{"name": name, "hosts": groups[name]} for name in sorted(groups)],
    }


def _groups(host: Host, group_by: str) -> Sequence[str]:
    groups = {"zone": host.zones, "aggregate": host.aggregates, "partition": [host.partition]}
    return groups.get(group_by, [""]) or [UNGROUPED]
