# SPDX-License-Identifier: Apache-2.0
"""Plans for the creation, deletion, renaming and moving of API-owned providers."""

from collections.abc import Iterable
from typing import Any

from rpcapi.resources import names
from scheduler_svc.core.records import CLAIM_COUNTS
from scheduler_svc.store import validation
from scheduler_svc.store.providers.changes import (
    API,
    KIND,
    UNCHANGED,
    CreateProvider,
    DeleteProvider,
    Document,
    ProviderPlan,
    ProviderReads,
    Refusal,
    RefusalKind,
    UpdateProvider,
    name_of,
    next_version,
)
from scheduler_svc.store.records import SCHEMA

MAX_MOVED = 1000  # providers in a moved subtree


def create(change: CreateProvider, reads: ProviderReads, clock_ms: int) -> ProviderPlan | Refusal:
    provider, parent = change.provider, change.parent
    if reads.documents.get(provider) is not None:
        return Refusal(RefusalKind.EXISTS, provider)
    holder = reads.holder(change.name)
    if holder is not None:
        return Refusal(RefusalKind.NAME, holder)
    root = provider if parent is None else root_of(parent, reads)
    if root is None:
        return Refusal(RefusalKind.PARENT, parent or "")
    document = new_document(provider, change.name, parent, root, clock_ms)
    return ProviderPlan(
        provider,
        {provider: next_version(document, clock_ms)},
        has_new_inventories=True,
        names={change.name: provider},
        linked={} if parent is None else {provider: parent},
        stale_roots=[root],
    )


def update(change: UpdateProvider, document: Document, reads: ProviderReads, clock_ms: int) -> ProviderPlan | Refusal:
    provider, former_name = change.provider, name_of(document)
    name = former_name if change.name is UNCHANGED else str(change.name)
    parent = document["parent"] if change.parent is UNCHANGED else change.parent
    if name != former_name:
        if not names.is_api_provider(provider):
            return Refusal(RefusalKind.OWNER, provider)
        holder = reads.holder(name)
        if holder is not None:
            return Refusal(RefusalKind.NAME, holder)
    moved = [] if parent == document["parent"] else subtree(provider, reads)
    root = document["root"]
    if moved:
        if parent in moved:
            return Refusal(RefusalKind.LOOP, provider)
        root = provider if parent is None else root_of(parent, reads)
        if root is None:
            return Refusal(RefusalKind.PARENT, str(parent))
    elif name == former_name:
        return ProviderPlan(provider)
    documents = {} if root == document["root"] else with_root(moved, root, reads)
    documents[provider] = next_version({**document, **_named(name, document), "parent": parent, "root": root}, clock_ms)
    was_child, is_child = document["parent"] is not None, parent is not None
    return ProviderPlan(
        provider,
        documents,
        names={} if name == former_name else {former_name: None, name: provider},
        linked={provider: str(parent)} if moved and is_child else {},
        unlinked={provider: document["parent"]} if moved and was_child else {},
        stale_roots=sorted({document["root"], root}) if moved else [],
    )


def delete(change: DeleteProvider, document: Document, reads: ProviderReads, _clock_ms: int) -> ProviderPlan | Refusal:
    provider = change.provider
    if reads.children.get(provider, ()):
        return Refusal(RefusalKind.CHILDREN, provider)
    used = reads.used.get(provider, {})
    in_use = sorted(name for name, amount in used.items() if amount > 0 and name not in CLAIM_COUNTS)
    if in_use:
        return Refusal(RefusalKind.IN_USE, provider, in_use)
    parent = document["parent"]
    return ProviderPlan(
        provider,
        {provider: None},
        names={document["name"]: None} if "name" in document else {},
        unlinked={} if parent is None else {provider: parent},
        stale_roots=[] if parent is None else [document["root"]],
    )


def new_document(provider: str, name: str, parent: str | None, root: str, created_ms: int) -> dict[str, Any]:
    """Return an API-owned provider's first document, without inventories. The caller adds version and changed_ms."""
    return {
        "schema": SCHEMA,
        "id": provider,
        "owner": API,
        "name": name,
        "host": names.API_HOST,
        "kind": KIND,
        "root": root,
        "parent": parent,
        "inventories": {},
        "traits": [],
        "created_ms": created_ms,
    }


def _named(name: str, document: Document) -> Document:
    return {"name": name} if "name" in document else {}


def root_of(provider: str, reads: ProviderReads) -> str | None:
    document = reads.documents.get(provider)
    return None if document is None else str(document["root"])


def subtree(provider: str, reads: ProviderReads) -> list[str]:
    """Return the ids of a provider and all its descendants. Raises InvalidRequest above MAX_MOVED ids."""
    level = [provider]
    subtree = [provider]
    while level:
        reads.prefetch(level)
        level = [child for above in level for child in reads.children.get(above, ())]
        subtree += level
        if len(subtree) > MAX_MOVED:
            raise validation.refuse(f"{provider!r} has more than {MAX_MOVED - 1} providers below it; move them first")
    return subtree


def with_root(providers: Iterable[str], root: str, reads: ProviderReads) -> dict[str, Document | None]:
    documents: dict[str, Document | None] = {}
    for provider in providers:
        document = reads.documents.get(provider)
        if document is not None:
            documents[provider] = {**document, "root": root, "version": document["version"] + 1}
    return documents
