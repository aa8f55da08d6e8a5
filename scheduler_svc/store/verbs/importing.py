# SPDX-License-Identifier: Apache-2.0
"""Verb that imports allocations from another Placement."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_svc.core.records import Claim
from scheduler_svc.store import allocations
from scheduler_svc.store.allocations import IMPORT_REQUEST, ConsumerImport
from scheduler_svc.store.providers.changes import Refusal, RefusalKind
from scheduler_svc.store.verbs.allocating import api_claim, read_former, unknown_provider
from scheduler_svc.store.verbs.partition import PartitionState


def import_allocations(
    partition: PartitionState, now: int, imports: Sequence[ConsumerImport], *, overwrite: bool
) -> Refusal | None:
    former = read_former(partition, imports, now)
    refusal = _refusal(partition, imports, former, overwrite=overwrite)
    if refusal is not None:
        return refusal
    partition.reach(max(item.generation for item in imports))
    for item in imports:
        live = former[item.consumer]
        if live is not None:
            partition.drop_claim(live)
        if item.allocations:
            parts: dict[str, Any] = {"generation": item.generation, "type": item.type, "created_ms": item.changed_ms}
            partition.add_claim(api_claim(partition, item, live, request_id=IMPORT_REQUEST, **parts))
    partition.claimed_providers.clear()  # do not increase generations: imports of providers set them
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
    return unknown_provider(imports, partition.capacity)
