# SPDX-License-Identifier: Apache-2.0
"""Pages of the deployment's state: overview, services, claims in flight, migrations."""

from collections.abc import Mapping
from typing import Any

from rpcapi.admin.service_states import AGENT, DOWN, UP, host_of
from rpcapi.dashboard import decision_log, host_list
from rpcapi.dashboard.cluster import MOST_IN_FLIGHT, CachedCluster, now_ms
from rpcapi.dashboard.exporters import Exporters
from rpcapi.dashboard.pages import Page, PageRequest
from rpcapi.resources.statuses import ENDED_MIGRATIONS

RECENT_REFUSALS = 10
PARTITION_FIELDS = ("name", "available", "epoch", "position", "claims")


class StatusPages:
    def __init__(self, cluster: CachedCluster, exporters: Exporters) -> None:
        self._cluster = cluster
        self._exporters = exporters

    def overview(self, request: PageRequest) -> Page:
        listed = self._cluster.hosts.get()
        migrations = self._cluster.migrations()
        values = {
            "partitions": self._partitions(listed),
            "totals": [(name, host_list.total(listed.hosts, name)) for name in listed.classes()],
            "host_count": len(listed.hosts),
            "awaited": [host for host in listed.hosts if host.state == host_list.AWAITED],
            "down": sum(host.state == DOWN for host in listed.hosts),
            "refusals": decision_log.refusals(self._cluster.decisions.get())[:RECENT_REFUSALS],
            "main_reason": decision_log.main_reason,
            "moving": None if migrations is None else sum(move.status not in ENDED_MIGRATIONS for move in migrations),
            "stale": listed.stale,
        }
        return Page("overview.html", values)

    def services(self, request: PageRequest) -> Page:
        listed = self._cluster.hosts.get()
        rows = sorted(
            (
                _service(partition, name, document)
                for partition, part in listed.partitions.items()
                for name, document in part.services.items()
            ),
            key=lambda row: (row["binary"] == AGENT, row["binary"], row["host"]),
        )
        values = {
            "rows": [row for row in rows if row["binary"] != AGENT],
            "agents": [row for row in rows if row["binary"] == AGENT and row["state"] != UP],
            "agent_count": sum(row["binary"] == AGENT for row in rows),
            "partitions": self._partitions(listed),
            "replica_lags": self._exporters.replica_lags.get(),
            "now_ms": now_ms(),
        }
        return Page("services.html", values)

    def claims(self, request: PageRequest) -> Page:
        partitions = self._cluster.partitions.get()
        counts = dict(zip(partitions.names, partitions.claims, strict=True))
        values = {
            "in_flight": self._cluster.claims_in_flight.get(),
            "most_claims": MOST_IN_FLIGHT,
            "counts": counts,
            "now_ms": now_ms(),
        }
        return Page("claims.html", values)

    def migrations(self, request: PageRequest) -> Page:
        return Page("migrations.html", {"migrations": self._cluster.migrations(), "progress": self._cluster.progress()})

    def _partitions(self, listed: host_list.HostList) -> list[dict[str, Any]]:
        reply = self._cluster.partitions.get()
        rows = zip(reply.names, reply.available, reply.epochs, reply.positions, reply.claims, strict=True)
        partitions = [dict(zip(PARTITION_FIELDS, row, strict=True)) for row in rows]
        for partition in partitions:
            part = listed.partitions.get(partition["name"], host_list.PartitionHosts())
            partition["states"] = host_list.count_states(part.hosts)
        return partitions


def _service(partition: str | None, name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "binary": document.get("binary", ""),
        "host": host_of(name, document),
        "state": host_list.state_of(document),
        "partition": partition,
        "document": document,
    }
