# SPDX-License-Identifier: Apache-2.0
"""Rounds of publishing: read the reported hosts and pools, and publish their services' host state."""

from collections.abc import Mapping
from typing import Any

from os_resource_classes import DISK_GB
from oslo_config import cfg

from devstack.publishers import site_topology
from rpcapi.admin import state_write
from rpcapi.admin.session import Session
from rpcapi.resources.names import host_of

GROUP = "publisher"
OPTS = [
    cfg.FloatOpt("interval", default=10.0, min=0.1, help="Seconds between two rounds of publishing."),
    cfg.IntOpt(
        "racks",
        default=2,
        min=1,
        max=1000,
        help="Number of racks; hosts and pools are distributed over them by number.",
    ),
    cfg.IntOpt(
        "physnets", default=2, min=1, max=64, help="Number of physical networks; each host is on all but one of them."
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group=GROUP)


VOLUME, NETWORK = "gantt-volume", "gantt-network"  # the declared owners of the two namespaces
Document = Mapping[str, Any]


class StatePublisher:
    """Publisher of changes since the last publication; failed publications are repeated in the next round."""

    def __init__(self, session: Session, *, racks: int, physnets: int) -> None:
        self._session = session
        self._racks = racks
        self._physnets = physnets
        self._published: dict[tuple[str, str], Document] = {}
        self.is_settled = False  # The last round found hosts or pools, but no changes.

    def publish(self) -> int:
        self.is_settled = False
        self._session.new_request()
        nodes = {
            state.name: state.document
            for state in self._session.list_all(self._session.scheduler.list_host_state, "states", "compute")
        }
        roots = {name: document for name, document in nodes.items() if document.get("root", name) == name}
        hosts = [name for name, document in roots.items() if document.get("kind", "compute") == "compute"]
        pools = {name: document for name, document in roots.items() if document.get("kind") == "volume"}
        networks = [name for name, document in roots.items() if document.get("kind") == "network"]
        count = 0
        for name, document in pools.items():
            served = site_topology.hosts_of_pool(name, hosts, self._racks)
            count += self._publish_state("volume", name, self._pool(name, document, served), VOLUME)
            count += self._publish_sharing(f"pool:{name}", name, served)
        for name in networks:
            count += self._publish_sharing(
                f"network:{name}", name, site_topology.hosts_of_network(name, hosts, self._physnets)
            )
        for host in sorted({host_of(name) for name in hosts}):
            count += self._publish_state(
                "network", host, site_topology.network_document(host, self._physnets, self._racks), NETWORK
            )
        self.is_settled = bool(self._published) and not count
        return count

    def _pool(self, name: str, document: Document, served: list[str]) -> Document:
        inventory = document["inventories"].get(DISK_GB, {"total": 0})
        used = document.get("used", {}).get(DISK_GB, 0)
        return {
            "service_host": host_of(name),
            "total_gb": inventory["total"],
            "free_gb": max(0, inventory["total"] - used),
            "location": site_topology.rack_of(name, self._racks),
            "hosts": served,
        }

    def _publish_sharing(self, aggregate_id: str, provider: str, served: list[str]) -> int:
        """Publish an aggregate of a provider and the hosts that share it."""
        members = [provider, *served]
        aggregate = {"id": aggregate_id, "name": f"reaches {provider}", "hosts": members, "metadata": {}}
        if self._published.get(("aggregate", aggregate_id)) == aggregate:
            return 0
        self._session.call(self._session.scheduler.update_aggregates, [aggregate])
        self._published["aggregate", aggregate_id] = aggregate
        return 1

    def _publish_state(self, namespace: str, name: str, document: Document, writer: str) -> int:
        if self._published.get((namespace, name)) == document:
            return 0
        state_write.update_document(self._session, namespace, name, dict(document), writer=writer, make=True)
        self._published[namespace, name] = document
        return 1
