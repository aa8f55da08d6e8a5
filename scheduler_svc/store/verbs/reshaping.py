# SPDX-License-Identifier: Apache-2.0
"""Reshape verb: replaces inventories and allocations together."""

from collections import ChainMap, Counter
from collections.abc import Sequence

from scheduler_svc.core.records import CLAIM_COUNTS
from scheduler_svc.store import reports
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers import reshaping
from scheduler_svc.store.providers.changes import Refusal, SetInventories
from scheduler_svc.store.providers.reshaping import ReshapedProvider
from scheduler_svc.store.verbs import allocating
from scheduler_svc.store.verbs.allocating import FormerClaims
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.providing import reads_of


def reshape(
    partition: PartitionState, now: int, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]
) -> Refusal | None:
    former = allocating.read_former(partition, changes, now, [change.provider for change in inventories])
    plans = reshaping.plan(inventories, reads_of(partition), now + partition.lead_ms)
    if isinstance(plans, Refusal):
        return plans
    interim = {planned.provider: reports.capacity_of(planned.interim) for planned in plans}
    refusal = allocating.refusal_of(partition, changes, former, ChainMap(interim, partition.capacity))
    refusal = refusal or reshaping.in_use(plans, _used_afterwards(partition, plans, changes, former))
    if refusal is None:
        _begin(partition, plans)
        allocating.replace_all(partition, changes, former, now)
        _finish(partition, plans, now)
    return refusal


def _used_afterwards(
    partition: PartitionState,
    plans: Sequence[ReshapedProvider],
    changes: Sequence[AllocationChange],
    former: FormerClaims,
) -> Counter[tuple[str, str]]:
    sums = allocating.deltas_of(changes, former)
    for planned in plans:
        if not planned.removed:
            continue
        for resource_class, amount in partition.used.get(planned.provider, {}).items():
            if resource_class not in CLAIM_COUNTS:
                sums[planned.provider, resource_class] += amount
    return sums


def _begin(partition: PartitionState, plans: Sequence[ReshapedProvider]) -> None:
    """Add the new inventories, and keep the old ones until the allocations are replaced."""
    if not any(planned.is_new for planned in plans):
        return
    partition.append("provider", {planned.provider: planned.interim for planned in plans if planned.is_new})
    for planned in plans:
        if planned.is_new:
            partition.capacity[planned.provider] = reports.capacity_of(planned.interim)
            partition.increase_generation(planned.provider)


def _finish(partition: PartitionState, plans: Sequence[ReshapedProvider], now: int) -> None:
    position = partition.append("provider", {planned.provider: planned.final for planned in plans})
    for planned in plans:
        provider = planned.provider
        partition.providers[provider] = dict(planned.final)
        partition.capacity[provider] = reports.capacity_of(planned.final)
        partition.changed[provider] = position
        partition.update_excess(provider, now, flag=True)
        partition.increase_generation(provider)
    partition.vocabulary = position
