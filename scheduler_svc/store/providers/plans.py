# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of a provider change, independent of the backend."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rpcapi.resources import names
from scheduler_svc.core.records import Amounts
from scheduler_svc.store.providers.changes import is_api_owned

Document = Mapping[str, Any]
IMPORTED = "imported"  # document key: the imported generation, while only imports have written the document


@dataclass(frozen=True, slots=True)
class ProviderReads:
    """Stored providers, read under exclusive access.

    Attributes:
        generation_base: Log position at which the epoch began (0: the first epoch); lower bound of all generations.
        generation: Returns a provider's generation as clients read it.
        used: Sums of live claims by provider.
        children: Sorted ids of the API's providers directly below each provider.
        api_names: Ids of the API's providers by name.
        prefetch: Reads several providers at once, ahead of their use.
    """

    generation_base: int
    generation: Callable[[str], int]
    documents: Mapping[str, Document]
    used: Mapping[str, Amounts]
    children: Mapping[str, Sequence[str]]
    api_names: Mapping[str, str]
    prefetch: Callable[[Collection[str]], None] = lambda _providers: None

    def holder(self, name: str) -> str | None:
        """Return the id of the provider with this name, of either owner."""
        return self.api_names.get(name) or (
            name if not names.is_api_provider(name) and name in self.documents else None
        )


@dataclass(frozen=True, slots=True)
class ProviderPlan:
    """Writes of a change of ``provider``; no ``documents`` means no writes.

    Attributes:
        documents: New documents by id; None deletes the provider.
        has_new_inventories: Whether the provider's inventories are written.
        bump: Whether its generation is increased.
        generation: Generation to set, at least the epoch's first; None sets none.
        names: {name: id of its new provider}; None frees the name.
        linked, unlinked: {child: parent} entries to add to, or remove from, the children.
        stale_roots: Roots of trees on which earlier decisions become stale.
    """

    provider: str
    documents: Mapping[str, Document | None] = field(default_factory=dict)
    has_new_inventories: bool = False
    bump: bool = False
    generation: int | None = None
    names: Mapping[str, str | None] = field(default_factory=dict)
    linked: Mapping[str, str] = field(default_factory=dict)
    unlinked: Mapping[str, str] = field(default_factory=dict)
    stale_roots: Collection[str] = ()


def next_version(document: Document, clock_ms: int) -> Document:
    """Return the document's next version, without an import's mark; API-owned documents get the time."""
    times = {"changed_ms": clock_ms} if is_api_owned(document) else {}
    members = {key: value for key, value in document.items() if key != IMPORTED}
    return {**members, **times, "version": document.get("version", 0) + 1}
