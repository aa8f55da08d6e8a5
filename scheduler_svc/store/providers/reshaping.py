# SPDX-License-Identifier: Apache-2.0
"""Plans for the inventories of a reshape, which replaces inventories and allocations together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler_svc.store import allocations, validation
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers.changes import (
    Document,
    ProviderReads,
    Refusal,
    RefusalKind,
    SetInventories,
    is_api_owned,
    next_version,
)
from scheduler_svc.store.providers.contents import compare_generation, stored_inventory

MAX_RESHAPED = 1000  # providers per call


@dataclass(frozen=True, slots=True)
class ReshapedProvider:
    """Documents of a provider during and after a reshape.

    Attributes:
        interim: Document with old and new inventories, while allocations are replaced.
        final: Document with the new inventories only.
        is_new: Whether ``interim`` differs from the stored document, because there are new inventories.
        removed: Sorted resource classes that the provider loses.
    """

    provider: str
    interim: Document
    final: Document
    is_new: bool
    removed: Sequence[str]


def check(inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> None:
    """Raise InvalidRequest or InvalidName unless all changes are valid, with distinct providers and consumers."""
    if not 1 <= len(inventories) <= MAX_RESHAPED:
        raise validation.refuse(f"a call must contain 1 to {MAX_RESHAPED} providers, got {len(inventories)}")
    if len({change.provider for change in inventories}) < len(inventories):
        raise validation.refuse("a call must not contain the same provider twice")
    for change in inventories:
        checks.check(change)
    if changes:
        allocations.check(changes)


def plan(
    inventories: Sequence[SetInventories], reads: ProviderReads, clock_ms: int
) -> list[ReshapedProvider] | Refusal:
    """Return the documents to write for each provider, or the first refusal. ``clock_ms`` is the server's clock."""
    plans: list[ReshapedProvider] = []
    for change in inventories:
        document = reads.documents.get(change.provider)
        if document is None:
            return Refusal(RefusalKind.PROVIDER, change.provider)
        if not is_api_owned(document):
            return Refusal(RefusalKind.OWNER, change.provider)
        refusal = compare_generation(change.provider, change.generation, reads)
        if refusal is not None:
            return refusal
        plans.append(_plan(change, document, clock_ms))
    return plans


def in_use(plans: Sequence[ReshapedProvider], used: Mapping[tuple[str, str], int]) -> Refusal | None:
    """Return an IN_USE refusal for the first provider that would lose classes in use, or None.

    ``used`` has the sums by (provider, class) after the allocations were replaced.
    """
    for planned in plans:
        classes = tuple(name for name in planned.removed if used[planned.provider, name] > 0)
        if classes:
            return Refusal(RefusalKind.IN_USE, planned.provider, classes)
    return None


def _plan(change: SetInventories, document: Document, clock_ms: int) -> ReshapedProvider:
    stored = document["inventories"]
    inventories = {name: stored_inventory(inventory) for name, inventory in change.inventories.items()}
    is_new = bool(inventories)
    interim = next_version({**document, "inventories": {**stored, **inventories}}, clock_ms) if is_new else document
    final = next_version({**interim, "inventories": inventories}, clock_ms)
    return ReshapedProvider(change.provider, interim, final, is_new, sorted(stored.keys() - inventories.keys()))
