# SPDX-License-Identifier: Apache-2.0
"""The fence verb: releases the claims of a host on which, by an operator's word, nothing runs."""

from rpcapi import errors
from rpcapi.resources.claims import ClaimState
from scheduler_svc.store.verbs.partition import PartitionState


def fence(partition: PartitionState, host: str, token: str, now: int, *, force: bool) -> int:
    """Release all live claims of ``host``, close it, and stop awaiting it; raises UnknownHost and HostIsUp."""
    record = fence_record(host, token)
    partition.prefetch(consumers=[record], services=[host])
    for ended in partition.ended.get(record, {}):
        return ended
    if not (host in partition.reports or host in partition.opened or partition.is_awaited(host)):
        raise errors.UnknownHost(name=host)
    if partition.alive.get(host) and not force:
        raise errors.HostIsUp(host=host)
    ended = 0
    for consumer in [claim.consumer for claim in partition.claims_on(host)]:
        live = partition.live_claim(consumer, now)
        if live is not None:
            partition.end_claim(live, ClaimState.FENCED, now)
            ended += 1
    # Closed last: while the host is open, its claims count as their consumers' newest attempts.
    if partition.opened.get(host, 0) > 0:
        partition.append("opened", {host: 0})
    partition.opened[host] = -partition.epoch
    partition.stop_awaiting(host)
    partition.ended[record] = {ended: ClaimState.FENCED}
    partition.ended_at[record] = now
    return ended


def fence_record(host: str, token: str) -> str:
    """Return the name of the tombstone that records a fence; its blanks keep it apart from consumers.

    The tombstone's attempt is the number of claims that the fence ended.
    """
    return f"fence {host} {token}"
