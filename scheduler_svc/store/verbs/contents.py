# SPDX-License-Identifier: Apache-2.0
"""The stored data of one partition, independent of the backend."""

import abc
from collections.abc import Collection, MutableMapping
from typing import Any, TypedDict, Unpack

from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.registrations import AppliedReport
from scheduler_svc.store.tallies import Tally

# Stands among the awaited hosts for those that the store may have forgotten and nobody has named yet. Its heartbeat is
# the beginning of the epoch. No name of a host has spaces.
UNNAMED_HOSTS = "(hosts not named yet)"
ALL = 1 << 60  # claims of a query, or past their deadline, if all of them are needed


class RowNames(TypedDict, total=False):
    """The names of rows that ``prefetch`` fetches, by what the rows are about."""

    consumers: Collection[str]
    providers: Collection[str]
    services: Collection[str]
    groups: Collection[str]
    provider_names: Collection[str]
    holders: Collection[str]
    tallies: Collection[str]


class PartitionStorage(abc.ABC):
    """The data of a partition, while one verb has exclusive access, and the queries of verbs that every backend runs.

    The data are mappings, whatever the backend stores. Changes that a verb makes in them, in their values too, are
    stored when the verb is done. Only the abstract methods read more than the names they are given.
    """

    by_group: bool  # a service group decides liveness, not heartbeats
    epoch: int
    position: int
    # The partition's own time in ms, and the server's clock as it was read at that time; None: not recorded yet.
    time_ms: int | None
    clock_ms: int | None
    # by consumer
    claims: MutableMapping[str, Claim]
    ended: MutableMapping[str, dict[int, str]]  # -> attempt -> its end
    ended_at: MutableMapping[str, int]
    deadlines: MutableMapping[str, int]
    unverified: MutableMapping[str, int]  # -> number of its unverified claims, which have names of their own
    sources: MutableMapping[str, str]  # -> migration that holds the source of its move
    # by provider|name of a claim on another host's or node's provider than its own
    holders: MutableMapping[str, int]  # -> 1
    # by tallies.key_of
    tallies: MutableMapping[str, Tally]
    # by server group
    groups: MutableMapping[str, dict[str, int]]  # -> node -> live claims
    # by provider
    providers: MutableMapping[str, dict[str, Any]]
    capacity: MutableMapping[str, dict[str, int | list[int]]]  # see reports.capacity_of
    used: MutableMapping[str, dict[str, int]]
    changed: MutableMapping[str, int]  # -> position
    eligible: MutableMapping[str, int]  # -> position; a service host's applies to all its nodes
    excess: MutableMapping[str, dict[str, int]]  # -> class -> time since when it is flagged
    generations: MutableMapping[str, int]  # -> its increments in this epoch, see PartitionState.generation_of
    children: MutableMapping[str, list[str]]  # -> the Placement API's providers directly below it, sorted
    generation_base: int  # the position at which this epoch began, 0 in the first one
    vocabulary: int  # the position of the last change of any provider's traits or inventories
    # by the name of a provider that the Placement API made
    provider_names: MutableMapping[str, str]  # -> its id
    # by service
    services: MutableMapping[str, dict[str, Any]]
    reports: MutableMapping[str, AppliedReport]
    beats: MutableMapping[str, int]
    alive: MutableMapping[str, bool]
    clock_offsets: MutableMapping[str, list[int]]  # -> ms by which its clock was ahead, time of the note
    opened: MutableMapping[str, int]  # -> epoch of its last audit; negative: epoch in which it was fenced since
    # by namespaces.entry_of
    states: MutableMapping[str, Versioned]  # -> version and document of declared namespaces
    # by pinned key
    pins: MutableMapping[str, tuple[str, int]]  # -> (partition that serves it, expiry in ms)

    @abc.abstractmethod
    def prefetch(self, **row_names: Unpack[RowNames]) -> None:
        """Fetch the rows that a verb is going to read, in as few queries as possible."""

    @abc.abstractmethod
    def append_entry(self, entry: LogEntry) -> None:
        """Append a log entry, and trim the log to its length."""

    @abc.abstractmethod
    def due_consumers(self, until: int, limit: int) -> list[str]:
        """Return consumers whose deadline is ``until`` or earlier, the earliest first."""

    @abc.abstractmethod
    def claims_on(self, host: str, limit: int = ALL) -> list[Claim]:
        """Return the first ``limit`` live claims of a service host by "node|consumer"."""

    @abc.abstractmethod
    def is_awaited(self, host: str) -> bool:
        """Return whether a service host may run claims that the store forgot."""

    @abc.abstractmethod
    def awaits_any(self) -> bool:
        """Return whether any host is awaited."""

    @abc.abstractmethod
    def await_host(self, host: str) -> None:
        """Await a service host, or UNNAMED_HOSTS."""

    @abc.abstractmethod
    def stop_awaiting(self, host: str) -> None:
        """Remove a host from the awaited ones."""
