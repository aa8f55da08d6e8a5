# SPDX-License-Identifier: Apache-2.0
"""What a change of a provider reads and writes, independent of the backend."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rpcapi.resources import names
from scheduler_svc.core.records import Amounts
from scheduler_svc.store.providers.changes import is_api_owned

Document = Mapping[str, Any]
IMPORTED = "imported"  # the member of a document that nothing but imports wrote: the generation as imported


class ProviderReads(Protocol):
    """The stored providers, as of the moment at which the plan is carried out: a backend checks that or locks them."""

    @property
    def generation_base(self) -> int:
        """The position at which the epoch began, 0 in the first one: no generation is less."""

    def document(self, provider: str) -> Document | None:
        """Return a provider's document, or None."""

    def generation(self, provider: str) -> int:
        """Return a provider's generation, as clients read it."""

    def used(self, provider: str) -> Amounts:
        """Return the sums of live claims at a provider."""

    def children(self, provider: str) -> Sequence[str]:
        """Return the ids of the API's providers directly below a provider, sorted."""

    def holder(self, name: str) -> str | None:
        """Return the id of the provider that has this name, of either owner."""


@dataclass(frozen=True, slots=True)
class ProviderPlan:
    """What a change of ``provider`` writes; nothing at all where ``documents`` is empty.

    documents             new documents by id; None: the provider is deleted
    has_new_inventories   whether the provider's inventories, so its capacity, are written
    bump                  whether its generation is increased
    generation            what its generation becomes, at least the one at which the epoch began; None: not set
    idle                  its resource classes that must not be in use, None: all
    names                 name -> id of the provider that takes it, None: it is given up
    linked, unlinked      child -> parent: entries of the children that are added and removed
    stale_roots           roots of the trees on which earlier decisions become stale
    """

    provider: str
    documents: Mapping[str, Document | None] = field(default_factory=dict)
    has_new_inventories: bool = False
    bump: bool = False
    generation: int | None = None
    idle: Sequence[str] | None = ()
    names: Mapping[str, str | None] = field(default_factory=dict)
    linked: Mapping[str, str] = field(default_factory=dict)
    unlinked: Mapping[str, str] = field(default_factory=dict)
    stale_roots: Collection[str] = ()


def holder_of(name: str, recorded: str | None, document: Callable[[str], Document | None]) -> str | None:
    """Return the provider that has ``name``: ``recorded`` as the API's, or the one that an agent reports under it."""
    if recorded is not None or names.is_api_provider(name):
        return recorded
    return None if document(name) is None else name


def next_version(document: Document, clock_ms: int) -> Document:
    """Return the next version of a document, with the time of the change in the API's documents.

    It is no longer as it was imported.
    """
    times = {"changed_ms": clock_ms} if is_api_owned(document) else {}
    members = {key: value for key, value in document.items() if key != IMPORTED}
    return {**members, **times, "version": document.get("version", 0) + 1}
