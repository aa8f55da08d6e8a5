# SPDX-License-Identifier: Apache-2.0
"""Verbs that read and change allocations of the Placement API. Keep in sync with allocate.lua."""

import copy
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Claim
from scheduler_svc.store import allocations, tallies
from scheduler_svc.store.allocations import ANY, AllocationChange, ConsumerImport, Usage
from scheduler_svc.store.providers.changes import Refusal, RefusalKind
from scheduler_svc.store.verbs.contents import ALL
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.whole_partition import WholePartition

FormerClaims = Mapping[str, Claim | None]  # {consumer: live claim before the change}
Unit = int | list[int]  # capacity, or [capacity, min_unit, max_unit, step_size]
Capacities = Mapping[str, dict[str, Unit]]  # {provider: {class: unit}}


def read(partition: PartitionState, now: int, consumers: Sequence[str]) -> dict[str, Claim]:
    partition.prefetch(consumers=consumers)
    live_claims = ((consumer, partition.live_claim(consumer, now)) for consumer in consumers)
    states = {
        consumer: allocations.client_view(claim, partition.generation_base)
        for consumer, claim in live_claims
        if claim is not None
    }
    return copy.deepcopy(states)


def list_holders(
    partition: WholePartition, now: int, provider: str, marker: str | None, limit: int
) -> tuple[list[Claim], str | None]:
    partition.expire(now)
    page = partition.claims_at(provider, marker or "", limit + 1)
    shown = page[:limit]
    partition.prefetch(consumers=shown)
    claims = [partition.claims[name] for name in shown]
    states = [
        allocations.client_view(claim, partition.generation_base) for claim in claims if provider in claim.allocations
    ]
    return copy.deepcopy(states), shown[-1] if len(page) > limit else None


def usages(
    partition: WholePartition, now: int, project: str, user: str | None, consumer_type: str | None
) -> dict[str, Usage]:
    partition.expire(now, ALL)
    return tallies.usages(tallies.rows_of(partition.tallies_of(project), user), consumer_type)


def allocate(partition: PartitionState, now: int, changes: Sequence[AllocationChange]) -> Refusal | None:
    former = read_former(partition, changes, now)
    refusal = refusal_of(partition, changes, former, partition.capacity)
    if refusal is None:
        replace_all(partition, changes, former, now)
    return refusal


def read_former(
    partition: PartitionState,
    changes: Sequence[AllocationChange | ConsumerImport],
    now: int,
    providers: Collection[str] = (),
) -> FormerClaims:
    """Return each consumer's live claim; prefetch all rows of the changes and of ``providers``."""
    partition.expire(now)
    partition.flush(now)
    partition.prefetch(
        consumers=[change.consumer for change in changes],
        providers={*providers, *(provider for change in changes for provider in change.allocations)},
    )
    former = {change.consumer: partition.live_claim(change.consumer, now) for change in changes}
    partition.prefetch(
        tallies={tallies.key_of(claim) for claim in former.values() if claim is not None}
        | {tallies.key_of_owner(change.project, change.user, change.type or "") for change in changes}
    )
    partition.flush(now)
    return former


def refusal_of(
    partition: PartitionState, changes: Sequence[AllocationChange], former: FormerClaims, capacity: Capacities
) -> Refusal | None:
    for change in changes:
        refusal = _consumer_refusal(partition, change, former[change.consumer])
        if refusal is not None:
            return refusal
    unknown = unknown_provider(changes, capacity)
    return unknown or next(_amount_refusals(partition, changes, deltas_of(changes, former), capacity), None)


def unknown_provider(changes: Sequence[AllocationChange | ConsumerImport], capacity: Container[str]) -> Refusal | None:
    for change in changes:
        for provider in sorted(change.allocations):
            if provider not in capacity:
                return Refusal(RefusalKind.PROVIDER, provider, consumer=change.consumer)
    return None


def replace_all(partition: PartitionState, changes: Sequence[AllocationChange], former: FormerClaims, now: int) -> None:
    for change in changes:
        _replace(partition, change, former[change.consumer], now + partition.lead_ms)
    partition.flush(now)


def _consumer_refusal(partition: PartitionState, change: AllocationChange, live: Claim | None) -> Refusal | None:
    consumer = change.consumer
    if consumer in partition.unverified or (live is not None and not _is_replaceable(live, change)):
        return Refusal(RefusalKind.OWNER, "", consumer=consumer)
    actual = None if live is None else allocations.generation_of(live, partition.generation_base)
    if change.generation is not ANY and change.generation != actual:
        return Refusal(RefusalKind.CONSUMER, "", (), change.generation, actual, consumer)
    if live is None or allocations.is_api_claim(live):
        return None
    lowered = allocations.lowered_amounts(live, change.allocations)
    return None if lowered is None else Refusal(RefusalKind.GUEST, *lowered, consumer=consumer)


def _is_replaceable(live: Claim, change: AllocationChange) -> bool:
    """Return whether ``change`` may replace a live claim.

    A confirmed claim of an agent can be changed with its generation, but not ended or given a different type. The
    source of a move cannot be changed.
    """
    if allocations.is_api_claim(live):
        return True
    is_known = live.instance is None and live.state == ClaimState.CONFIRMED and change.generation is not ANY
    return is_known and bool(change.allocations) and change.type in (None, live.type)


def deltas_of(changes: Sequence[AllocationChange], former: FormerClaims) -> Counter[tuple[str, str]]:
    """Return {(provider, class): growth of the used sum}."""
    deltas: Counter[tuple[str, str]] = Counter()
    for change in changes:
        live = former[change.consumer]
        for part, sign in ((change.allocations, 1), (live.allocations if live else {}, -1)):
            for provider, amounts in part.items():
                for resource_class, amount in amounts.items():
                    deltas[provider, resource_class] += sign * amount
    return deltas


def _amount_refusals(
    partition: PartitionState,
    changes: Sequence[AllocationChange],
    deltas: Mapping[tuple[str, str], int],
    capacity: Capacities,
) -> Iterator[Refusal]:
    for change in changes:
        for provider, amounts in sorted(change.allocations.items()):
            for resource_class, amount in sorted(amounts.items()):
                unit = capacity[provider].get(resource_class)
                kind = _refusal_kind(
                    partition, (provider, resource_class), amount, deltas[provider, resource_class], unit
                )
                if kind is not None:
                    yield Refusal(kind, provider, (resource_class,), consumer=change.consumer)


def _refusal_kind(
    partition: PartitionState, inventory: tuple[str, str], amount: int, delta: int, unit: Unit | None
) -> RefusalKind | None:
    if unit is None:
        return RefusalKind.INVENTORY
    total, least, most, step = (unit, 1, amount, 1) if isinstance(unit, int) else unit
    if not least <= amount <= most or amount % step:
        return RefusalKind.UNITS
    if delta <= 0:
        return None
    provider, resource_class = inventory
    if not partition.is_open(provider):
        return RefusalKind.CLOSED
    used = partition.used.get(provider, {}).get(resource_class, 0)
    return RefusalKind.CAPACITY if used + delta > total else None


def _replace(partition: PartitionState, change: AllocationChange, live: Claim | None, clock_ms: int) -> None:
    if live is not None:
        partition.drop_claim(live)
    if change.allocations:
        partition.add_claim(_claim_after(partition, change, live, clock_ms))
        partition.claimed_providers.update(change.allocations)
    elif live is not None and not change.is_deletion:
        partition.claimed_providers.update(live.allocations)


def _claim_after(partition: PartitionState, change: AllocationChange, live: Claim | None, clock_ms: int) -> Claim:
    """Return the consumer's claim after ``change``. An agent's claim keeps its host, attempt and owner."""
    base = partition.generation_base
    parts: dict[str, Any] = {
        "generation": (base if live is None else allocations.generation_of(live, base)) + 1,
        "type": change.type if change.type is not None else live.type if live is not None else "",
    }
    if live is not None and not allocations.is_api_claim(live):
        reported = allocations.reported_allocations(live)
        parts["reported"] = None if reported == change.allocations else reported
        copied = copy.deepcopy(change.allocations)
        return replace(live, project=change.project, user=change.user, allocations=copied, **parts)
    return api_claim(partition, change, live, request_id="", created_ms=clock_ms, **parts)


def api_claim(
    partition: PartitionState,
    change: AllocationChange | ConsumerImport,
    live: Claim | None,
    *,
    generation: int,
    type: str,
    request_id: str,
    created_ms: int,
) -> Claim:
    return Claim(
        consumer=change.consumer,
        attempt=max(partition.ended.get(change.consumer, {0: ""})) + 1 if live is None else live.attempt,
        generation=generation,
        type=type,
        project=change.project,
        user=change.user,
        state=ClaimState.CONFIRMED,
        host=names.API_HOST,
        allocations=copy.deepcopy(change.allocations),
        request_id=request_id,
        created_ms=created_ms,
    )
