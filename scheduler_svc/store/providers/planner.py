# SPDX-License-Identifier: Apache-2.0
"""Plan of a provider change, without side effects: its writes, or its refusal."""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_svc.store.providers import contents, imports, trees
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    Document,
    ImportProvider,
    ProviderChange,
    ProviderPlan,
    ProviderReads,
    ProviderState,
    Refusal,
    RefusalKind,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
    UpdateProvider,
    is_api_owned,
)

Planner = Callable[[Any, Document, ProviderReads, int], ProviderPlan | Refusal]

_PLANNERS: Mapping[type, Planner] = {
    UpdateProvider: trees.update,
    DeleteProvider: trees.delete,
    SetInventories: contents.change_inventories,
    SetInventory: contents.change_inventories,
    SetTraits: contents.set_traits,
    SetAggregates: contents.set_aggregates,
}
_OF_EITHER_OWNER = (SetTraits, SetAggregates)  # changes allowed on agents' providers too


def related(change: ProviderChange) -> tuple[list[str], list[str]]:
    """Return (provider ids, names) that planning the change reads, to prefetch them in one round trip."""
    match change:
        case CreateProvider(provider, name, parent) | ImportProvider(provider, name, parent):
            return [provider, *([parent] if parent is not None else [])], [name]
        case UpdateProvider(provider, name, parent):
            parents = [parent] if isinstance(parent, str) else []
            return [provider, *parents], [name] if isinstance(name, str) else []
        case _:
            return [change.provider], []


def plan(change: ProviderChange, reads: ProviderReads, clock_ms: int) -> ProviderPlan | Refusal:
    """Return the writes of a validated change, or its refusal.

    Raises InvalidRequest if the change would move more than MAX_MOVED providers.
    """
    if isinstance(change, CreateProvider):
        return trees.create(change, reads, clock_ms)
    if isinstance(change, ImportProvider):
        return imports.import_provider(change, reads, clock_ms)
    document = reads.documents.get(change.provider)
    if document is None:
        return Refusal(RefusalKind.PROVIDER, change.provider)
    if not is_api_owned(document) and type(change) not in _OF_EITHER_OWNER:
        return Refusal(RefusalKind.OWNER, change.provider)
    return _PLANNERS[type(change)](change, document, reads, clock_ms)


def state_after(planned: ProviderPlan, reads: ProviderReads, generation: int) -> ProviderState:
    """Return the provider's state after ``planned``; for a deleted provider, its last state."""
    provider = planned.provider
    document = planned.documents.get(provider) or reads.documents.get(provider)
    if document is None:
        raise LookupError(f"provider {provider!r} is neither planned nor stored")
    return ProviderState(
        provider, document, generation, dict(reads.used.get(provider, {})), tuple(reads.children.get(provider, ()))
    )
