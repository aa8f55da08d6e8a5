# SPDX-License-Identifier: Apache-2.0
"""Hosts report to the partition that they belong to, and leave another one only when they are empty."""

from collections.abc import Mapping
from typing import Any

from oslo_log import log

from scheduler_svc.partitions import Partitions
from scheduler_svc.store.records import StatsOutcome

LOG = log.getLogger(__name__)


class Arrivals:
    """Takes the reports of all hosts, whatever their partition."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def update_stats(
        self,
        host: str,
        partition: str | None,
        *,
        incarnation: int,
        sequence: int,
        base: int,
        full: bool,
        nodes: Mapping[str, Mapping[str, Any]],
    ) -> StatsOutcome:
        """Apply a report; see Store.update_stats. ``partition`` None: the own one.

        A host that is known in another partition leaves that one first, since its claims cannot go with it: raises
        HostInUse where it has some, Conflict where it may have, and StoreUnavailable where nobody can say. Raises
        UnknownPartition too.
        """
        target = self._partitions.find(partition)
        if len(self._partitions) > 1:
            for former in self._partitions.of_host(host):
                if former is not target:
                    former.store.remove(host)
                    LOG.warning("Host %s has left partition %s for %s", host, former.name, target.name)
        return target.store.update_stats(
            host, incarnation=incarnation, sequence=sequence, base=base, full=full, nodes=nodes
        )

    def remove(self, host: str) -> None:
        """Have a service host forgotten wherever it is known, or may be; raises HostInUse, Conflict."""
        for each in self._partitions.of_host(host) or self._partitions:
            each.store.remove(host)
