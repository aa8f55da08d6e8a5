# SPDX-License-Identifier: Apache-2.0
"""Storage interface of one partition, independent of the backend."""

import abc
from collections.abc import Collection, MutableMapping
from typing import Any, TypedDict, Unpack

from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.registrations import AppliedReport
from scheduler_svc.store.tallies import Tally

# Stands for forgotten hosts that nobody has named yet; no host's name has spaces. Its heartbeat is the epoch's start.
UNNAMED_HOSTS = "(hosts not named yet)"
ALL = 1 << 60  # limit that never applies


class RowNames(TypedDict, total=False):
    """Rows to ``prefetch``, by kind."""

    consumers: Collection[str]
    providers: Collection[str]
    services: Collection[str]
    groups: Collection[str]
    provider_names: Collection[str]
    holders: Collection[str]
    tallies: Collection[str]


class PartitionStorage(abc.ABC):
    """A partition's data while one verb has exclusive access.

    Backends present their data as these mappings, and store all changes to them and their values when the verb ends. A
    mapping fetches only the key that is read; all other queries are abstract methods.
    """

    by_group: bool  # a service group decides liveness, not heartbeats
    epoch: int
    position: int
    # Partition time in ms, and the server's clock then; None before the first verb.
    time_ms: int | None
    clock_ms: int | None
    # Keyed by consumer.
    claims: MutableMapping[str, Claim]
    ended: MutableMapping[str, dict[int, str]]  # -> attempt -> end
    ended_at: MutableMapping[str, int]
    deadlines: MutableMapping[str, int]
    unverified: MutableMapping[str, int]  # -> number of unverified claims, which have names of their own
    sources: MutableMapping[str, str]  # -> migration, consumer of the source claim
    # Keyed by "provider|consumer" of each claim on a provider other than its own node.
    holders: MutableMapping[str, int]  # -> 1
    # Keyed by tallies.key_of.
    tallies: MutableMapping[str, Tally]
    # Keyed by server group.
    groups: MutableMapping[str, dict[str, int]]  # -> node -> number of live claims
    # Keyed by provider.
    providers: MutableMapping[str, dict[str, Any]]
    capacity: MutableMapping[str, dict[str, int | list[int]]]  # see reports.capacity_of
    used: MutableMapping[str, dict[str, int]]
    changed: MutableMapping[str, int]  # -> position
    eligible: MutableMapping[str, int]  # -> position; older decisions are stale; a service host's covers its nodes
    excess: MutableMapping[str, dict[str, int]]  # -> class -> partition time of the flag
    generations: MutableMapping[str, int]  # -> increments in this epoch; see PartitionState.generation_of
    children: MutableMapping[str, list[str]]  # -> sorted API-owned providers directly below
    generation_base: int  # position at which the epoch began; 0 in the first
    vocabulary: int  # position of the last change of a provider's traits or inventories
    # Keyed by name of an API-owned provider.
    provider_names: MutableMapping[str, str]  # -> provider id
    # Keyed by service.
    services: MutableMapping[str, dict[str, Any]]
    reports: MutableMapping[str, AppliedReport]
    beats: MutableMapping[str, int]
    alive: MutableMapping[str, bool]
    clock_offsets: MutableMapping[str, list[int]]  # -> [ms ahead of the server, time of the note]
    opened: MutableMapping[str, int]  # -> epoch of the last audit; negative: of a later fence
    # Keyed by namespaces.entry_of.
    states: MutableMapping[str, Versioned]  # -> (version, document) in declared namespaces
    # Keyed by pinned key.
    pins: MutableMapping[str, tuple[str, int]]  # -> (partition, expiry in ms)

    @abc.abstractmethod
    def prefetch(self, **row_names: Unpack[RowNames]) -> None:
        """Fetch the rows that a verb will read, in as few queries as possible."""

    @abc.abstractmethod
    def append_entry(self, entry: LogEntry) -> None:
        """Append a log entry, and trim the log to its maximum length."""

    @abc.abstractmethod
    def due_consumers(self, until: int, limit: int) -> list[str]:
        """Return consumers with a deadline at or before ``until``, earliest first."""

    @abc.abstractmethod
    def claims_on(self, host: str, limit: int = ALL) -> list[Claim]:
        """Return up to ``limit`` live claims of a service host, in order of "node|consumer"."""

    @abc.abstractmethod
    def is_awaited(self, host: str) -> bool:
        """Return whether the service host may run forgotten claims, so that its audit is awaited."""

    @abc.abstractmethod
    def awaits_any(self) -> bool:
        """Return whether any host is awaited."""

    @abc.abstractmethod
    def await_host(self, host: str) -> None:
        """Await the audit of a service host, or UNNAMED_HOSTS."""

    @abc.abstractmethod
    def stop_awaiting(self, host: str) -> None:
        """Remove a host, or UNNAMED_HOSTS, from the awaited hosts."""
