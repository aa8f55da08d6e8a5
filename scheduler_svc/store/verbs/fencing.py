# SPDX-License-Identifier: Apache-2.0
"""The fence verb: an operator knows that nothing runs on a host."""

from rpcapi import errors
from rpcapi.model.claims import ClaimState
from scheduler_svc.store.verbs.partition import Partition


def fence(partition: Partition, host: str, now: int) -> int:
    """End all live claims of ``host``, close it, and await it no more; raises UnknownHost."""
    if not (host in partition.reports or host in partition.opened or partition.is_awaited(host)):
        raise errors.UnknownHost(name=host)
    ended = 0
    for consumer in [claim.consumer for claim in partition.claims_on(host)]:
        live = partition.settle(consumer, now)
        if live is not None:
            partition.end(live, ClaimState.RELEASED, now)
            ended += 1
    # Closed last: a claim that its host stood by in this epoch was its consumer's newest attempt.
    if partition.opened.pop(host, None) is not None:
        partition.append("opened", {host: 0})
    partition.await_no_more(host)
    return ended
