# SPDX-License-Identifier: Apache-2.0
"""The stored data of one partition, independent of the backend."""

import abc
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import Any

from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.registrations import AppliedReport
from scheduler_svc.store.tallies import Tally

# Stands among the awaited hosts for those that the store may have forgotten and nobody has named yet. Its heartbeat is
# the beginning of the epoch. No name of a host has spaces.
UNNAMED_HOSTS = "(hosts not named yet)"


class PartitionStorage(abc.ABC):
    """The data of a partition, while one verb has exclusive access.

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
    def prefetch(
        self,
        *,
        consumers: Collection[str] = (),
        providers: Collection[str] = (),
        services: Collection[str] = (),
        groups: Collection[str] = (),
        provider_names: Collection[str] = (),
        holders: Collection[str] = (),
        tallies: Collection[str] = (),
    ) -> None:
        """Fetch the rows that a verb is going to read, in as few queries as possible."""

    @abc.abstractmethod
    def append_entry(self, entry: LogEntry) -> None:
        """Append a log entry, and trim the log to its length."""

    @abc.abstractmethod
    def entries(self, position: int, limit: int) -> list[LogEntry]:
        """Return log entries after ``position``."""

    @abc.abstractmethod
    def due_consumers(self, until: int, limit: int) -> list[str]:
        """Return consumers whose deadline is ``until`` or earlier, the earliest first."""

    @abc.abstractmethod
    def claims_on(self, host: str) -> list[Claim]:
        """Return the live claims of a service host."""

    @abc.abstractmethod
    def page_of_claims(
        self, host: str | None, consumer: str | None, marker: str | None, limit: int
    ) -> tuple[list[Claim], str | None]:
        """Return a page of live claims by "node|consumer", and the next marker; ``host`` is a host or a node."""

    @abc.abstractmethod
    def claims_at(self, provider: str, marker: str, limit: int) -> list[str]:
        """Return names of claims after ``marker`` whose host is ``provider``, or that ``holders`` has for it."""

    @abc.abstractmethod
    def tallies_of(self, project: str) -> list[Tally]:
        """Return the tallies of a project's consumers."""

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return the number of claims with a deadline (prepared) and without one (confirmed)."""

    @abc.abstractmethod
    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the collections."""

    @abc.abstractmethod
    def trim_log(self, length: int) -> None:
        """Remove the oldest log entries beyond ``length``."""

    @abc.abstractmethod
    def old_tombstones(self, until: int, limit: int) -> list[str]:
        """Return consumers whose last claim ended at ``until`` or before, the oldest first."""

    @abc.abstractmethod
    def expired_pins(self, now: int, limit: int) -> list[str]:
        """Return keys of expired pins."""

    @abc.abstractmethod
    def silent_services(self, since: int) -> list[str]:
        """Return services marked alive that have sent no heartbeat after ``since``."""

    @abc.abstractmethod
    def is_awaited(self, host: str) -> bool:
        """Return whether a service host may run claims that the store forgot."""

    @abc.abstractmethod
    def awaits_any(self) -> bool:
        """Return whether any host is awaited."""

    @abc.abstractmethod
    def await_hosts(self) -> None:
        """Await every host that was ever opened, or is alive: the store may have forgotten its opening."""

    @abc.abstractmethod
    def reset_generations(self) -> None:
        """Remove the increments of all generations."""

    @abc.abstractmethod
    def await_host(self, host: str) -> None:
        """Await a service host, or UNNAMED_HOSTS."""

    @abc.abstractmethod
    def stop_awaiting(self, host: str) -> None:
        """Remove a host from the awaited ones."""

    @abc.abstractmethod
    def page_of_names(self, namespace: str, marker: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return names in a namespace, in order, and the next marker."""

    @abc.abstractmethod
    def record(self, request_id: str, document: Mapping[str, Any], most: int) -> None:
        """Append a decision, and drop the oldest beyond ``most`` bytes."""

    @abc.abstractmethod
    def decision_of(self, request_id: str, project: str | None = None) -> dict[str, Any] | None:
        """Return the newest decision of a request, with ``project`` only of that project."""

    @abc.abstractmethod
    def decisions_after(self, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
        """Return (number, request id, document) of decisions, oldest first."""

    @abc.abstractmethod
    def whole(self, mapping: str) -> Mapping[str, Any]:
        """Return all of one of the mappings, for a copy of the partition."""

    @abc.abstractmethod
    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        """Return all documents of a declared namespace."""

    @abc.abstractmethod
    def places(self) -> Collection[tuple[str, str]]:
        """Return (node, consumer) of each live claim, as it is indexed."""
