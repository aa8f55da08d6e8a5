# SPDX-License-Identifier: Apache-2.0
"""The remove verb: a service host leaves the partition, once it is empty."""

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.store import reports
from scheduler_svc.store.memory.partition import Partition
from scheduler_svc.store.memory.states import drop_nodes


def remove(partition: Partition, name: str, host: str, now: int) -> None:
    """Forget ``host`` of partition ``name``; raises HostInUse, or Conflict where what it runs may be forgotten."""
    if host in partition.awaited:
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.AWAITED)
    here = [claim.consumer for claim in partition.claims.values() if names.host_of(claim.host) == host]
    live = [consumer for consumer in here if partition.settle(consumer, now) is not None]
    if live:
        raise errors.HostInUse(host=host, claims=len(live), partition=name)
    applied = partition.reports.pop(host, None)
    drop_nodes(partition, applied.nodes if applied else (), now)
    for told_of in (partition.opened, partition.beats, partition.alive):
        told_of.pop(host, None)
    if partition.services.pop(host, None) is not None:
        partition.append("service", {host: None})
