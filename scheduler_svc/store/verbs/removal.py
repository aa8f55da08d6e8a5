# SPDX-License-Identifier: Apache-2.0
"""The remove verb: a service host leaves the partition, once it is empty."""

from rpcapi import errors
from scheduler_svc.store import reports
from scheduler_svc.store.verbs.partition import Partition
from scheduler_svc.store.verbs.states import drop_nodes

LOT = 1000  # claims past their deadline that are ended on the way, at most


def remove(partition: Partition, name: str, host: str, now: int) -> None:
    """Forget ``host`` of partition ``name``; raises HostInUse, or Conflict where what it runs may be forgotten."""
    if partition.is_awaited(host):
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.AWAITED)
    partition.expire(now, LOT)
    live = [claim for claim in partition.claims_on(host) if partition.settle(claim.consumer, now) is not None]
    if live:
        raise errors.HostInUse(host=host, claims=len(live), partition=name)
    applied = partition.reports.get(host)
    nodes = applied.nodes if applied else ()
    partition.expect(providers=nodes)
    if any(amount > 0 for node in nodes for amount in partition.used.get(node, {}).values()):
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.SHARED)
    partition.reports.pop(host, None)
    drop_nodes(partition, nodes, now)
    for told_of in (partition.opened, partition.beats, partition.alive, partition.eligible):
        told_of.pop(host, None)
    if partition.services.pop(host, None) is not None:
        partition.append("service", {host: None})
