# SPDX-License-Identifier: Apache-2.0
"""Collection of the hosts that a store may have forgotten: in a new epoch, until all who know hosts have named them."""

from collections.abc import Iterable

from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from scheduler_svc.store.verbs.partition import PartitionState


def name_hosts(partition: PartitionState, epoch: int, hosts: Iterable[str], *, complete: bool) -> bool:
    """Await the audits of hosts that have neither audited nor been fenced in this epoch.

    Returns whether names are still collected in this epoch.
    """
    if epoch != partition.epoch or not partition.is_awaited(UNNAMED_HOSTS):
        return False
    for host in hosts:
        if partition.may_have_lost_claims_of(host):
            partition.await_host(host)
    if complete:
        _stop(partition)
    return not complete


def expire(partition: PartitionState, since: int) -> None:
    """Stop collecting if it began at ``since`` or before."""
    if partition.beats.get(UNNAMED_HOSTS, since + 1) <= since:
        _stop(partition)


def _stop(partition: PartitionState) -> None:
    partition.stop_awaiting(UNNAMED_HOSTS)
    partition.beats.pop(UNNAMED_HOSTS, None)
