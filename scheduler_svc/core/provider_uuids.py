# SPDX-License-Identifier: Apache-2.0
"""Conversion between provider UUIDs, which Placement clients use, and the store's provider ids.

The id of a client's provider contains its UUID. An agent's provider has a UUID computed from its id, so a host has the
same UUID in every process, even after it was removed and returned.
"""

import functools
import threading
import uuid as uuids
from collections.abc import Iterable

from rpcapi.resources import names

# Namespace of the version 5 UUIDs (RFC 9562) of agents' providers.
NAMESPACE = uuids.UUID("6f1c7a3e-94f4-4e0c-8d0c-3f1f5a3f2b6d")

_API_PREFIX = names.api_provider("")
_PREFIX_LENGTH = len(_API_PREFIX)


def uuid_of(provider: str) -> str:
    return provider[_PREFIX_LENGTH:] if provider.startswith(_API_PREFIX) else _agent_uuid(provider)


def uuids_of(providers: Iterable[str]) -> list[str]:
    return [name[_PREFIX_LENGTH:] if name.startswith(_API_PREFIX) else _agent_uuid(name) for name in providers]


@functools.lru_cache(maxsize=1 << 17)
def _agent_uuid(provider: str) -> str:
    return str(uuids.uuid5(NAMESPACE, provider))


class AgentIdentities:
    """Ids of agents' providers by UUID. Thread-safe."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._names: set[str] = set()
        self._lock = threading.Lock()

    def learn(self, providers: Iterable[str]) -> None:
        """Add provider ids. They are never removed: whether a provider exists is the store's decision."""
        with self._lock:
            new = [name for name in providers if name not in self._names and not names.is_api_provider(name)]
            self._names.update(new)
            self._ids.update((uuid_of(name), name) for name in new)

    def find(self, uuid: str) -> str | None:
        """Return the id of the agent's provider with this UUID, or None if unknown here."""
        return self._ids.get(uuid)
