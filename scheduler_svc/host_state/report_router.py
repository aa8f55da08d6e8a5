# SPDX-License-Identifier: Apache-2.0
"""Routing of hosts' reports to their partitions. A host with claims cannot change its partition."""

from oslo_log import log

from rpcapi import errors
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.store import registrations
from scheduler_svc.store.namespaces import SERVICE
from scheduler_svc.store.records import HostReport, StatsOutcome

LOG = log.getLogger(__name__)


def update_stats(partitions: OpenPartitions, host: str, partition: str | None, report: HostReport) -> StatsOutcome:
    """Apply a host's report in its partition; see HostReportStore.update_stats.

    ``partition`` None means this worker's partition. A host that registers in a different partition than before is
    first removed from its former partition, because claims cannot move. Raises HostInUse if the host has claims in the
    former partition, Conflict if it may have some, HostIdentityConflict if an agent with a different state folder is up
    there, StoreUnavailable and UnknownPartition.
    """
    target = partitions.find(partition)
    if report.register:
        for former in partitions:
            if former is not target and _has_host(partitions, former, host, report.host_uuid):
                former.store.remove(host)
                LOG.warning("Host %s moved from partition %s to %s", host, former.name, target.name)
    return target.store.update_stats(host, report)


def _has_host(partitions: OpenPartitions, partition: OpenPartition, host: str, host_uuid: str) -> bool:
    """Return whether a partition's store has a host. The table may not have a new host yet.

    While the store is unavailable, the table decides, so that hosts of other partitions can register. Raises
    HostIdentityConflict if an agent with a different state folder is up in this partition.
    """
    try:
        service = partition.store.get_state(SERVICE, host)[1]
        if registrations.is_foreign(service, host_uuid) and service["alive"]:
            obstacle = registrations.TakeoverObstacle.UP
            raise registrations.foreign(host, obstacle, service[registrations.HOST_UUID])
    except errors.UnknownHost:
        return False
    except errors.StoreUnavailable:
        return partition in partitions.of_host(host)
    return True


def remove(partitions: OpenPartitions, host: str) -> None:
    """Remove a lost service host from every partition that may have it. Raises HostInUse, Conflict."""
    for partition in partitions.of_host(host) or partitions:
        partition.store.remove(host, lost=True)
