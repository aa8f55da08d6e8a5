# SPDX-License-Identifier: Apache-2.0
"""Availability zones of nodes: from metadata of their aggregates, otherwise from the agent's report."""

from collections.abc import Iterable, Mapping
from typing import Any

from rpcapi.resources import names

ZONE = "availability_zone"  # metadata key that makes an aggregate an availability zone


class ZonesByHost:
    """Zones that aggregates assign to hosts and nodes."""

    def __init__(self, aggregates: Iterable[Mapping[str, Any]]) -> None:
        self._zones: dict[str, set[str]] = {}
        for document in aggregates:
            zone = document.get("metadata", {}).get(ZONE)
            if zone is not None and "deleted" not in document:
                for host in document["hosts"]:
                    self._zones.setdefault(host, set()).add(zone)

    def of(self, name: str, document: Mapping[str, Any]) -> list[str]:
        """Return the zones of the aggregates of a node and its service host, otherwise the reported zone."""
        zones = self._zones.get(name, set()) | self._zones.get(names.host_of(name), set())
        reported = document.get(ZONE)
        return sorted(zones) or ([] if reported is None else [reported])
