# SPDX-License-Identifier: Apache-2.0
"""What a change of a provider reads and writes, independent of the backend."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rpcapi.resources import names
from scheduler_svc.core.records import Amounts
from scheduler_svc.store.providers.changes import is_api_owned

Document = Mapping[str, Any]
IMPORTED = "imported"  # the member of a document that nothing but imports wrote: the generation as imported


@dataclass(frozen=True, slots=True)
class ProviderReads:
    """The stored providers by id, while one verb has exclusive access.

    ``generation_base`` is the position at which the epoch began, 0 in the first one: no generation is less.
    ``generation`` returns a provider's generation, as clients read it. ``used`` has the sums of live claims,
    ``children`` the ids of the API's providers directly below, sorted. ``api_names`` are the ids by name of the API's
    providers. ``prefetch`` fetches providers at once that are read next.
    """

    generation_base: int
    generation: Callable[[str], int]
    documents: Mapping[str, Document]
    used: Mapping[str, Amounts]
    children: Mapping[str, Sequence[str]]
    api_names: Mapping[str, str]
    prefetch: Callable[[Collection[str]], None] = lambda _providers: None

    def holder(self, name: str) -> str | None:
        """Return the id of the provider that has this name, of either owner; an agent's has its id as name."""
        return self.api_names.get(name) or (
            name if not names.is_api_provider(name) and name in self.documents else None
        )


@dataclass(frozen=True, slots=True)
class ProviderPlan:
    """What a change of ``provider`` writes; nothing at all where ``documents`` is empty.

    documents             new documents by id; None: the provider is deleted
    has_new_inventories   whether the provider's inventories, so its capacity, are written
    bump                  whether its generation is increased
    generation            what its generation becomes, at least the one at which the epoch began; None: not set
    names                 name -> id of the provider that takes it, None: it is given up
    linked, unlinked      child -> parent: entries of the children that are added and removed
    stale_roots           roots of the trees on which earlier decisions become stale
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
    """Return the next version of a document, with the time of the change in the API's documents.

    It is no longer as it was imported.
    """
    times = {"changed_ms": clock_ms} if is_api_owned(document) else {}
    members = {key: value for key, value in document.items() if key != IMPORTED}
    return {**members, **times, "version": document.get("version", 0) + 1}
