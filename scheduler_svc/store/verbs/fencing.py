# SPDX-License-Identifier: Apache-2.0
"""The fence verb: releases the claims of a host that an operator declares dead.

A fence runs in steps of at most FENCE_BATCH claims; other verbs run in between. The first step closes the host, the
last one stops awaiting it. If the host audits in between, its agent is alive, and the fence ends early.
"""

from rpcapi import errors
from rpcapi.resources.claims import ClaimState
from scheduler_svc.store import registrations
from scheduler_svc.store.verbs.partition import PartitionState

FENCE_BATCH = 500  # claims per step
PROGRESS = "fencing "


def fence(partition: PartitionState, now: int, host: str, token: str, *, force: bool, replace: bool) -> int | None:
    """Close ``host`` and release its live claims step by step; finally stop awaiting the host.

    Returns the number of ended claims, or None if claims are left: call again. With ``replace``, an agent with any
    other state folder may register afterwards. Raises UnknownHost and HostIsUp.
    """
    record = fence_record(host, token)
    partition.prefetch(consumers=[record], services=[host])
    ((ended, state),) = partition.ended.get(record, {0: ""}).items()
    if state == ClaimState.FENCED:
        return ended
    if state and not partition.is_fenced(host):
        return _finish(partition, record, ended, now)  # the host audited after the first step
    opened = int(state.removeprefix(PROGRESS)) if state else _close(partition, host, force=force)
    claims = partition.claims_on(host, FENCE_BATCH + 1)
    # Claims of an open host are the newest attempts of their consumers.
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
    """Log the host as closed; return its previous ``opened`` value. Raises UnknownHost and HostIsUp."""
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
    """Return the name of the tombstone that records a fence; its spaces keep it apart from consumers.

    The tombstone's attempt is the number of ended claims. Its end is 'fenced', or while claims remain PROGRESS followed
    by the host's ``opened`` value before the fence.
    """
    return f"fence {host} {token}"
