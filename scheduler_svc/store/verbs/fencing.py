# SPDX-License-Identifier: Apache-2.0
"""The fence verb: releases the claims of a host on which, by an operator's word, nothing runs.

It is several steps, each of at most FENCE_BATCH claims. The first closes the host; the
last stops awaiting it. Between two of them other verbs run; once the host has audited, its agent runs, and the fence
ends there.
"""

from rpcapi import errors
from rpcapi.resources.claims import ClaimState
from scheduler_svc.store import registrations
from scheduler_svc.store.verbs.partition import PartitionState

FENCE_BATCH = 500  # claims that one step checks
PROGRESS = "fencing "


def fence(partition: PartitionState, now: int, host: str, token: str, *, force: bool, replace: bool) -> int | None:
    """Close ``host`` and release some of its live claims; after the last of them stop awaiting the host.

    With ``replace`` the agent of any other state folder may register then.

    Returns the number of claims that the fence ended; None: claims remain, call it again. Raises UnknownHost and
    HostIsUp.
    """
    record = fence_record(host, token)
    partition.prefetch(consumers=[record], services=[host])
    ((ended, state),) = partition.ended.get(record, {0: ""}).items()
    if state == ClaimState.FENCED:
        return ended
    if state and not partition.is_fenced(host):
        return _finish(partition, record, ended, now)  # it has audited since the first step
    opened = int(state.removeprefix(PROGRESS)) if state else _close(partition, host, force=force)
    claims = partition.claims_on(host, FENCE_BATCH + 1)
    # While the host counts as open, its claims are their consumers' newest attempts.
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
    """Log that the host is closed; return what it was opened in. Raises UnknownHost and HostIsUp."""
    if not (host in partition.reports or host in partition.opened or partition.is_awaited(host)):
        raise errors.UnknownHost(name=host)
    if partition.alive.get(host) and not force:
        raise errors.HostIsUp(host=host)
    opened = partition.opened.get(host, 0)
    if opened >= 0:
        partition.append("opened", {host: 0})
    return opened


def close_awaited(partition: PartitionState, host: str) -> None:
    """Fence an awaited host without claims."""
    if not partition.is_fenced(host):
        partition.append("opened", {host: 0})
    partition.opened[host] = -partition.epoch
    partition.stop_awaiting(host)


def _finish(partition: PartitionState, record: str, ended: int, now: int) -> int:
    """Record a fence that is carried out."""
    partition.ended[record] = {ended: ClaimState.FENCED}
    partition.ended_at[record] = now
    return ended


def fence_record(host: str, token: str) -> str:
    """Return the name of the tombstone that records a fence; its blanks keep it apart from consumers.

    The tombstone's attempt is the number of claims that the fence ended; its end is 'fenced', or while claims remain
    PROGRESS and the epoch in which the host was open.
    """
    return f"fence {host} {token}"
