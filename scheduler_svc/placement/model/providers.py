# SPDX-License-Identifier: Apache-2.0
"""Resource providers with inventories, traits and aggregates, as seen by Placement's clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.store.providers.changes import ProviderState, is_api_owned, name_of


@dataclass(frozen=True, slots=True)
class ResourceProvider:
    id: str
    uuid: str
    name: str
    generation: int
    parent: str | None  # UUID
    root: str  # UUID
    document: Mapping[str, Any]
    used: Mapping[str, int]

    @classmethod
    def of(cls, state: ProviderState) -> "ResourceProvider":
        document = state.document
        parent = document.get("parent")
        return cls(
            state.id,
            uuid_of(state.id),
            name_of(document),
            state.generation,
            None if parent is None else uuid_of(parent),
            uuid_of(document["root"]),
            document,
            state.used,
        )

    @property
    def inventories(self) -> Mapping[str, Mapping[str, Any]]:
        """Inventories by resource class, in stored form."""
        inventories: Mapping[str, Mapping[str, Any]] = self.document["inventories"]
        return inventories

    @property
    def traits(self) -> Sequence[str]:
        return sorted(self.document["traits"])

    @property
    def aggregates(self) -> Sequence[str]:
        """UUIDs of aggregates set by clients, sorted."""
        return list(self.document.get("aggregates", ()))

    @property
    def modified(self) -> datetime:
        """Time of the last change by a client; now for an agent's provider, whose changes have no recorded time."""
        if is_api_owned(self.document):
            return datetime.fromtimestamp(self.document["changed_ms"] / 1000, UTC)
        return datetime.now(UTC)
