# SPDX-License-Identifier: Apache-2.0
"""Plans for imports of providers from another Placement, with their generations and times."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.store.providers import trees
from scheduler_svc.store.providers.changes import (
    IMPORTED,
    Document,
    ImportProvider,
    ProviderPlan,
    ProviderReads,
    Refusal,
    RefusalKind,
)
from scheduler_svc.store.providers.contents import stored_inventory


def imported_generation(document: Document, generation: int, generation_base: int) -> int | None:
    """Return a provider's imported generation, or None if any other write or claim has followed the import."""
    imported = document.get(IMPORTED)
    is_unchanged = imported is not None and generation == max(imported, generation_base)
    return imported if is_unchanged else None


def import_provider(change: ImportProvider, reads: ProviderReads, _clock_ms: int) -> ProviderPlan | Refusal:
    """Plan the writes that make the stored provider identical to the import; none if it already is."""
    provider, parent = change.provider, change.parent
    stored = reads.documents.get(provider)
    refusal = _refusal(change, stored, reads)
    if refusal is not None:
        return refusal
    is_moved = stored is not None and stored["parent"] != parent
    moved = trees.subtree(provider, reads) if is_moved else []
    if parent == provider or parent in moved:
        return Refusal(RefusalKind.LOOP, provider)
    root = provider if parent is None else trees.root_of(parent, reads)
    if root is None:
        return Refusal(RefusalKind.PARENT, str(parent))
    generation = max(change.generation, reads.generation_base)
    document = _document(change, root)
    if stored is None:
        return ProviderPlan(
            provider,
            {provider: document | {"version": 1}},
            has_new_inventories=True,
            generation=generation,
            names={change.name: provider},
            linked={} if parent is None else {provider: parent},
            stale_roots=[root],
        )
    document["version"] = stored["version"]
    if document == stored and generation == reads.generation(provider):
        return ProviderPlan(provider)
    documents = trees.with_root(moved, root, reads) if root != stored["root"] else {}
    documents[provider] = document | {"version": stored["version"] + 1}
    return ProviderPlan(
        provider,
        documents,
        has_new_inventories=document["inventories"] != stored["inventories"],
        generation=generation,
        names={} if change.name == stored["name"] else {stored["name"]: None, change.name: provider},
        linked={provider: parent} if is_moved and parent is not None else {},
        unlinked={provider: stored["parent"]} if is_moved and stored["parent"] is not None else {},
        stale_roots=sorted({stored["root"], root}) if _is_stale(stored, document) else [],
    )


def _refusal(change: ImportProvider, stored: Document | None, reads: ProviderReads) -> Refusal | None:
    provider = change.provider
    if stored is not None:
        actual = reads.generation(provider)
        if not change.overwrite and imported_generation(stored, actual, reads.generation_base) is None:
            return Refusal(RefusalKind.GENERATION, provider, (), stored.get(IMPORTED), actual)
        if stored["name"] == change.name:
            return None
    holder = reads.holder(change.name)
    return None if holder is None else Refusal(RefusalKind.NAME, holder)


def _document(change: ImportProvider, root: str) -> dict[str, Any]:
    created = trees.new_document(change.provider, change.name, change.parent, root, change.created_ms)
    inventories: Mapping[str, Any] = {name: stored_inventory(part) for name, part in change.inventories.items()}
    aggregates = {"aggregates": sorted(set(change.aggregates))} if change.aggregates else {}
    return (
        created
        | aggregates
        | {
            "inventories": inventories,
            "traits": sorted(set(change.traits)),
            "changed_ms": change.changed_ms,
            IMPORTED: change.generation,
        }
    )


def _is_stale(stored: Document, document: Document) -> bool:
    return any(stored.get(part) != document.get(part) for part in ("traits", "aggregates", "parent", "root"))
