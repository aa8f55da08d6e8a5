# SPDX-License-Identifier: Apache-2.0
"""The hosts of a Nova, as gantt-nova-bridge published them."""

from dataclasses import dataclass

from scheduler_svc.core.namespaces.nova import NAMESPACE
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.table.view import View


@dataclass(frozen=True, slots=True)
class NovaHost:
    """A compute node by its row in the table, with what Nova calls it; ``zone`` is that of its aggregates."""

    row: int
    name: str
    service_host: str
    node: str
    cell: str
    zone: str | None

    @property
    def uuid(self) -> str:
        """The uuid of the compute node, which is its provider's."""
        return uuid_of(self.name)


def find(view: View, name: str) -> NovaHost | None:
    """Return the host of a row's name; None if it is gone, or Nova has no compute node for it."""
    document = view.documents(NAMESPACE).get(name)
    rows = (view.row(name, number) for number in range(len(view.partitions)))
    row = next((row for row in rows if row is not None), None)
    if document is None or row is None:
        return None
    return NovaHost(row, name, document["service_host"], document["node"], document["cell"], view.zone(row))
