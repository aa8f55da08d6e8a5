# SPDX-License-Identifier: Apache-2.0
"""Interface through which verbs in Python access one partition's data in any backend."""

import abc
from collections.abc import Collection, MutableMapping
from typing import Any, TypedDict, Unpack

from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.registrations import AppliedReport
from scheduler_svc.store.tallies import Tally

# Entry among the awaited hosts for forgotten hosts that nobody has named yet. The spaces keep it apart from host names.
# Its heartbeat is the time at which the epoch began.
UNNAMED_HOSTS = "(hosts not named yet)"
ALL = 1 << 60  # a limit that is never reached


class RowNames(TypedDict, total=False):
    """Names of the rows to ``prefetch``, by kind."""

    consumers: Collection[str]
    providers: Collection[str]
    services: Collection[str]
    groups: Collection[str]
    provider_names: Collection[str]
    holders: Collection[str]
    tallies: Collection[str]


class PartitionStorage(abc.ABC):
    """A partition's data while one verb has exclusive access.

    Backends present their data as these mappings. When the verb ends, they store all changes of the mappings and of
    their values. A mapping reads only the key that is accessed; all other queries are methods.
    """

    by_group: bool  # A coordination group decides liveness, instead of heartbeats.
    epoch: int
    position: int
    # Partition time in ms, and the server's clock at that time; None before the first verb.
    time_ms: int | None
    clock_ms: int | None
    # Keyed by consumer.
    claims: MutableMapping[str, Claim]
    ended: MutableMapping[str, dict[int, str]]  # {attempt: tombstone}
    ended_at: MutableMapping[str, int]  # time of the newest tombstone
    deadlines: MutableMapping[str, int]  # prepared claims only, without parked ones
    unverified: MutableMapping[str, int]  # number of unverified claims, which are stored under unverified_name
    sources: MutableMapping[str, str]  # migration, which is the consumer of the source claim
    # Keyed by "provider|consumer", for each provider of a claim except its node.
    holders: MutableMapping[str, int]  # always 1
    # Keyed by tallies.key_of.
    tallies: MutableMapping[str, Tally]
    # Keyed by server group.
    groups: MutableMapping[str, dict[str, int]]  # {node: number of live claims}
    # Keyed by provider.
    providers: MutableMapping[str, dict[str, Any]]
    capacity: MutableMapping[str, dict[str, int | list[int]]]  # see reports.capacity_of
    used: MutableMapping[str, dict[str, int]]
    changed: MutableMapping[str, int]  # position of the last change of sums or inventories
    # Position of the last change of eligibility; it makes earlier decisions stale. A service host's covers its nodes.
    eligible: MutableMapping[str, int]
    built: MutableMapping[str, int]  # instances on a node that its last report counts as built
    excess: MutableMapping[str, dict[str, int]]  # {class: partition time of the flag}
    generations: MutableMapping[str, int]  # increments in this epoch; see PartitionState.generation_of
    children: MutableMapping[str, list[str]]  # sorted ids of API-owned providers directly below
    generation_base: int  # position at which the epoch began; 0 in the first epoch
    vocabulary: int  # position of the last change of any provider's traits or inventories
    # Keyed by name of an API-owned provider.
    provider_names: MutableMapping[str, str]  # provider id
    # Keyed by service.
    services: MutableMapping[str, dict[str, Any]]
    reports: MutableMapping[str, AppliedReport]
    beats: MutableMapping[str, int]
    alive: MutableMapping[str, bool]
    clock_offsets: MutableMapping[str, list[int]]  # [ms by which its clock is ahead of the server's, time noted]
    opened: MutableMapping[str, int]  # epoch of the last audit; negative: epoch of a fence since that audit
    # Keyed by namespaces.entry_of.
    states: MutableMapping[str, Versioned]  # (version, document) in a declared namespace
    # Keyed by pinned key.
    pins: MutableMapping[str, tuple[str, int]]  # (partition, partition time of expiry in ms)

    @abc.abstractmethod
    def prefetch(self, **row_names: Unpack[RowNames]) -> None:
        """Read the rows that a verb will need, in as few queries as possible."""

    @abc.abstractmethod
    def append_entry(self, entry: LogEntry) -> None:
        """Append a log entry, and trim the log to its maximum length."""

    @abc.abstractmethod
    def due_consumers(self, until: int, limit: int) -> list[str]:
        """Return up to ``limit`` consumers with a deadline at or before ``until``, earliest first."""

    @abc.abstractmethod
    def claims_on(self, host: str, limit: int = ALL) -> list[Claim]:
        """Return up to ``limit`` live claims on a service host's nodes, in order of "node|consumer"."""

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
