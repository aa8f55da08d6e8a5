# SPDX-License-Identifier: Apache-2.0
"""The fence verb: an operator knows that nothing runs on a host."""

from rpcapi import errors
from rpcapi.model import names
from rpcapi.model.claims import ClaimState
from scheduler_svc.store.memory.partition import Partition


def fence(partition: Partition, host: str, now: int) -> int:
    """End all live claims of ``host``, close it, and await it no more; raises UnknownHost."""
    if not any(host in known for known in (partition.reports, partition.opened, partition.awaited)):
        raise errors.UnknownHost(name=host)
    ended = 0
    for consumer in [claim.consumer for claim in partition.claims.values() if names.host_of(claim.host) == host]:
        live = partition.settle(consumer, now)
        if live is not None:
            partition.end(live, ClaimState.RELEASED, now)
            ended += 1
    # Closed last: a claim that its host stood by in this epoch was its consumer's newest attempt.
    if partition.opened.pop(host, None) is not None:
        partition.append("opened", {host: 0})
    partition.awaited.discard(host)
    return ended
