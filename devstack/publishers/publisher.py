# SPDX-License-Identifier: Apache-2.0
"""One round of publishing: look at the hosts and pools that report, and tell what their services know of them."""

from collections.abc import Mapping
from typing import Any

from os_resource_classes import DISK_GB

from devstack.publishers import lie
from rpcapi.model.names import host_of
from rpcapi.shell import state_write
from rpcapi.shell.session import Session

VOLUME, NETWORK = "gantt-volume", "gantt-network"  # the declared writers of the two namespaces
Document = Mapping[str, Any]


class Publisher:
    """Tells what changed since it last told it; what fails is told in the next round."""

    def __init__(self, session: Session, *, racks: int, physnets: int) -> None:
        self._session = session
        self._racks = racks
        self._physnets = physnets
        self._told: dict[tuple[str, str], Document] = {}
        self.settled = False  # whether the last round found hosts or pools, and nothing new of them

    def publish(self) -> int:
        """Go one round and return how many documents were told; raises what the scheduler's client raises."""
        self.settled = False
        self._session.new_request()
        nodes = {
            state.name: state.document
            for state in self._session.pages(self._session.scheduler.list_host_state, "states", "compute")
        }
        roots = {name: told for name, told in nodes.items() if told.get("root", name) == name}
        hosts = [name for name, told in roots.items() if told.get("kind", "compute") == "compute"]
        pools = {name: told for name, told in roots.items() if told.get("kind") == "volume"}
        networks = [name for name, told in roots.items() if told.get("kind") == "network"]
        count = 0
        for name, told in pools.items():
            served = lie.reached(name, hosts, self._racks)
            count += self._tell("volume", name, self._pool(name, told, served), VOLUME)
            count += self._share(f"pool:{name}", name, served)
        for name in networks:
            count += self._share(f"network:{name}", name, lie.joined(name, hosts, self._physnets))
        for host in sorted({host_of(name) for name in hosts}):
            count += self._tell("network", host, lie.networks(host, self._physnets, self._racks), NETWORK)
        self.settled = bool(self._told) and not count
        return count

    def _pool(self, name: str, told: Document, served: list[str]) -> Document:
        inventory = told["inventories"].get(DISK_GB, {"total": 0})
        used = told.get("used", {}).get(DISK_GB, 0)
        return {
            "service_host": host_of(name),
            "total_gb": inventory["total"],
            "free_gb": max(0, inventory["total"] - used),
            "location": lie.rack_of(name, self._racks),
            "hosts": served,
        }

    def _share(self, aggregate_id: str, provider: str, served: list[str]) -> int:
        """Let the hosts that a pool or network serves take from it: an aggregate holds both."""
        members = [provider, *served]
        aggregate = {"id": aggregate_id, "name": f"reaches {provider}", "hosts": members, "metadata": {}}
        if self._told.get(("aggregate", aggregate_id)) == aggregate:
            return 0
        self._session.ask(self._session.scheduler.update_aggregates, [aggregate])
        self._told["aggregate", aggregate_id] = aggregate
        return 1

    def _tell(self, namespace: str, name: str, document: Document, writer: str) -> int:
        if self._told.get((namespace, name)) == document:
            return 0
        state_write.write(self._session, namespace, name, dict(document), writer=writer, make=True)
        self._told[namespace, name] = document
        return 1
