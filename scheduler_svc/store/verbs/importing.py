# SPDX-License-Identifier: Apache-2.0
"""Import of what consumers hold in another Placement; the script `import_allocations` does the same."""

from collections.abc import Mapping, Sequence

from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Claim
from scheduler_svc.store import allocations
from scheduler_svc.store.allocations import IMPORT_REQUEST, ConsumerImport
from scheduler_svc.store.providers.changes import Refusal, RefusalKind
from scheduler_svc.store.verbs.allocating import EXPIRE_BATCH
from scheduler_svc.store.verbs.partition import PartitionState


def import_allocations(
    partition: PartitionState, imports: Sequence[ConsumerImport], now: int, *, overwrite: bool
) -> Refusal | None:
    """Store what consumers hold, as checked, or return why nothing is changed."""
    partition.expire(now, EXPIRE_BATCH)
    partition.flush(now)
    partition.prefetch(
        consumers=[item.consumer for item in imports],
        providers={provider for item in imports for provider in item.allocations},
    )
    former = {item.consumer: partition.live_claim(item.consumer, now) for item in imports}
    partition.flush(now)
    refusal = _refusal(partition, imports, former, overwrite=overwrite)
    if refusal is not None:
        return refusal
    partition.reach(max(item.generation for item in imports))
    for item in imports:
        live = former[item.consumer]
        if live is not None:
            partition.drop_claim(live)
        if item.allocations:
            partition.add_claim(_claim(partition, item, live))
    partition.claimed_providers.clear()  # their generations are imported too
    partition.flush(now, flag=True)
    return None


def _refusal(
    partition: PartitionState,
    imports: Sequence[ConsumerImport],
    former: Mapping[str, Claim | None],
    *,
    overwrite: bool,
) -> Refusal | None:
    for item in imports:
        live = former[item.consumer]
        if item.consumer in partition.unverified or (live is not None and not allocations.is_api_claim(live)):
            return Refusal(RefusalKind.OWNER, "", consumer=item.consumer)
        if live is not None and not overwrite and not allocations.is_imported(live):
            actual = allocations.generation_of(live, partition.generation_base)
            return Refusal(RefusalKind.CONSUMER, "", actual=actual, consumer=item.consumer)
    for item in imports:
        for provider in sorted(item.allocations):
            if provider not in partition.capacity:
                return Refusal(RefusalKind.PROVIDER, provider, consumer=item.consumer)
    return None


def _claim(partition: PartitionState, item: ConsumerImport, live: Claim | None) -> Claim:
    return Claim(
        consumer=item.consumer,
        attempt=max(partition.ended.get(item.consumer, {0: ""})) + 1 if live is None else live.attempt,
        generation=item.generation,
        type=item.type,
        project=item.project,
        user=item.user,
        state=ClaimState.CONFIRMED,
        host=names.API_HOST,
        allocations=item.allocations,
        request_id=IMPORT_REQUEST,
        created_ms=item.created_ms,
    )
