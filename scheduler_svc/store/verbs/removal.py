# SPDX-License-Identifier: Apache-2.0
"""Remove verb: removes a service host that has no claims."""

from rpcapi import errors
from scheduler_svc.store import reports
from scheduler_svc.store.verbs.fencing import close_awaited
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.states import drop_nodes


def remove(partition: PartitionState, now: int, name: str, host: str, *, lost: bool) -> None:
    partition.prefetch(services=[host])
    is_awaited = partition.is_awaited(host)
    if is_awaited and not lost:
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.AWAITED)
    if is_awaited and partition.alive.get(host):
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.AWAITED_AND_UP)
    partition.expire(now)
    live = [claim for claim in partition.claims_on(host) if partition.live_claim(claim.consumer, now) is not None]
    if live:
        raise errors.HostInUse(host=host, claims=len(live), partition=name)
    applied = partition.reports.get(host)
    nodes = applied.nodes if applied else ()
    partition.prefetch(providers=nodes)
    if any(amount > 0 for node in nodes for amount in partition.used.get(node, {}).values()):
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.SHARED)
    if any(node in partition.children for node in nodes):
        raise errors.Conflict(what=f"Removing host {host!r}", why=reports.API_CHILDREN)
    partition.reports.pop(host, None)
    drop_nodes(partition, nodes, now)
    if is_awaited:
        close_awaited(partition, host)
    else:
        partition.opened.pop(host, None)
    for mapping in (
        partition.beats,
        partition.alive,
        partition.eligible,
        partition.built,
        partition.clock_offsets,
    ):
        mapping.pop(host, None)
    if partition.services.pop(host, None) is not None:
        partition.append("service", {host: None})
