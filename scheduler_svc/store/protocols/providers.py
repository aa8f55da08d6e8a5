# SPDX-License-Identifier: Apache-2.0
"""Providers as the Placement API reads and changes them."""

import abc
from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.store.providers.changes import ImportProvider, ProviderChange, ProviderState, Refusal


class ProviderStore(Protocol):
    """Providers of both owners, by id: names.api_provider(uuid), or the name under which an agent reports one.

    A generation never repeats between a provider's creation and its deletion, in all epochs. It is increased by the
    changes that say so, and for a provider of the API by each verb that adds claims on it, once.
    """

    @abc.abstractmethod
    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        """Return the state of each provider of ``ids`` that exists, all as of one moment; at most MAX_PAGE ids."""

    @abc.abstractmethod
    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the generation of each of ``ids``, in order, whether it exists or not; at most MAX_GENERATIONS ids."""

    @abc.abstractmethod
    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        """Apply one change and return the provider's state after it, of a deleted one the last; or why it is refused.

        The change is judged and made at one moment: what others change at the same time is visible whole or not at all.
        Earlier decisions on the tree become stale where traits, aggregates or the tree itself change. Raises
        InvalidRequest for malformed ids, names, inventories, traits or aggregates, InvalidName, and StoreUnavailable
        under too many concurrent changes of the same provider.
        """

    @abc.abstractmethod
    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        """Store 1 to MAX_IMPORTS providers, and return for each why it is refused, or None.

        Each is stored whole or not at all, in order, as by ``change_provider``; others may read a part of them. After
        InvalidRequest and InvalidName for one of them, and StoreUnavailable, some may be stored: all may be repeated.
        It is fastest where none is below another one of the same call.
        """

    @abc.abstractmethod
    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        """Delete the document of a custom trait or resource class that no provider had at position ``as_of``.

        ``namespace`` is VOCABULARIES' "trait" or "resource_class", in which ``put_state`` makes the documents; a name
        exists where there is one, or a provider that has it. The caller has looked at all providers, in a replica that
        has applied the log to ``as_of``. Refused with BEHIND, ``actual`` a position, where traits or inventories of any
        provider changed later: follow the log to there, and look again. Does nothing where there is no document.
        Raises InvalidRequest for other namespaces, and UnknownNamespace where the store was opened without it.
        """
