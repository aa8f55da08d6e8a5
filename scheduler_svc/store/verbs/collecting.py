# SPDX-License-Identifier: Apache-2.0
"""Start of an epoch, and collection of the names of hosts that the store may have forgotten."""

from collections.abc import Sequence

from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.whole_partition import WholePartition


def begin_epoch_if_behind(partition: WholePartition, now: int, epoch: int, position: int) -> tuple[int, int]:
    if (partition.epoch, partition.position) < (epoch, position):
        partition.epoch, partition.position = max(partition.epoch, epoch), max(partition.position, position)
        partition.begin_epoch(now)
    return partition.epoch, partition.position


def name_hosts(partition: PartitionState, _now: int, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
    """Await named hosts that have neither audited nor been fenced in this epoch; return whether to name more."""
    if epoch != partition.epoch or not partition.is_awaited(UNNAMED_HOSTS):
        return False
    partition.prefetch(services=hosts)
    for host in hosts:
        if partition.may_have_lost_claims_of(host):
            partition.await_host(host)
    if complete:
        _stop(partition)
    return not complete


def expire(partition: PartitionState, since: int) -> None:
    if partition.beats.get(UNNAMED_HOSTS, since + 1) <= since:
        _stop(partition)


def _stop(partition: PartitionState) -> None:
    partition.stop_awaiting(UNNAMED_HOSTS)
    partition.beats.pop(UNNAMED_HOSTS, None)
