# SPDX-License-Identifier: Apache-2.0
"""Fence verb: releases all claims of a host that an operator declares lost.

It runs in steps of FENCE_BATCH claims, so that other verbs can run between steps. The first step closes the host, the
last step stops awaiting it. An audit between two steps proves that the agent is alive, and ends the fence early.
"""

from rpcapi import errors
from rpcapi.resources.claims import ClaimState
from scheduler_svc.store import registrations
from scheduler_svc.store.verbs.partition import PartitionState

FENCE_BATCH = 500  # claims per step
PROGRESS = "fencing "  # prefix of an unfinished fence's state in its record, see fence_record


def fence(partition: PartitionState, now: int, host: str, token: str, *, force: bool, replace: bool) -> int | None:
    """Run one step of ClaimAudits.fence. Returns the number of ended claims, or None if claims remain."""
    record = fence_record(host, token)
    partition.prefetch(consumers=[record], services=[host])
    ((ended, state),) = partition.ended.get(record, {0: ""}).items()
    if state == ClaimState.FENCED:
        return ended
    if state and not partition.is_fenced(host):
        return _finish(partition, record, ended, now)  # the host has audited since the first step
    opened = int(state.removeprefix(PROGRESS)) if state else _close(partition, host, force=force)
    claims = partition.claims_on(host, FENCE_BATCH + 1)
    # With the former value, overdue claims of an open host expire instead of counting as fenced.
    partition.opened[host] = opened
    for claim in claims[:FENCE_BATCH]:
        live = partition.live_claim(claim.consumer, now)
        if live is not None:
            partition.end_claim(live, ClaimState.FENCED, now)
            ended += 1
    partition.opened[host] = -partition.epoch
    if len(claims) <= FENCE_BATCH:
        partition.stop_awaiting(host)
        if replace and host in partition.services:
            partition.services[host] = registrations.with_replaced(partition.services[host])
            partition.append("service", {host: partition.services[host]})
        return _finish(partition, record, ended, now)
    partition.ended[record] = {ended: f"{PROGRESS}{opened}"}
    partition.ended_at[record] = now
    return None


def _close(partition: PartitionState, host: str, *, force: bool) -> int:
    if not (host in partition.reports or host in partition.opened or partition.is_awaited(host)):
        raise errors.UnknownHost(name=host)
    if partition.alive.get(host) and not force:
        raise errors.HostIsUp(host=host)
    opened = partition.opened.get(host, 0)
    if opened >= 0:
        partition.append("opened", {host: 0})
    return opened


def close_awaited(partition: PartitionState, host: str) -> None:
    if not partition.is_fenced(host):
        partition.append("opened", {host: 0})
    partition.opened[host] = -partition.epoch
    partition.stop_awaiting(host)


def _finish(partition: PartitionState, record: str, ended: int, now: int) -> int:
    partition.ended[record] = {ended: ClaimState.FENCED}
    partition.ended_at[record] = now
    return ended


def fence_record(host: str, token: str) -> str:
    """Return the name under which tombstones record a fence. Its spaces keep it apart from consumers' names.

    The recorded attempt is the number of ended claims. The recorded end is "fenced" after the last step; before, it is
    PROGRESS with the host's former ``opened`` value.
    """
    return f"fence {host} {token}"
