# SPDX-License-Identifier: Apache-2.0
"""Hosts of a Nova deployment, from the documents of gantt-nova-bridge."""

from dataclasses import dataclass

from scheduler_svc.core.namespaces.compute_node import NAMESPACE
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.table.view import View


@dataclass(frozen=True, slots=True)
class NovaHost:
    """Compute node: row and name in the table, names in Nova, and the zone of its aggregates, if any."""

    row: int
    name: str
    service_host: str
    node: str
    cell: str
    zone: str | None

    @property
    def uuid(self) -> str:
        return uuid_of(self.name)


def find(view: View, name: str) -> NovaHost | None:
    """Return the host with this table name; None without a row or a compute node."""
    document = view.documents(NAMESPACE).get(name)
    rows = (view.row(name, number) for number in range(len(view.log_positions)))
    row = next((row for row in rows if row is not None), None)
    if document is None or row is None:
        return None
    return NovaHost(row, name, document["service_host"], document["node"], document["cell"], view.zone(row))
