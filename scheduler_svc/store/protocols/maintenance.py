# SPDX-License-Identifier: Apache-2.0
"""Maintenance, claim counters and pins of a partition."""

import abc
from collections.abc import Mapping
from typing import Protocol

from rpcapi.bounds import CollectionSize
from scheduler_svc.store import validation
from scheduler_svc.store.bounded import PINS
from scheduler_svc.store.protocols.claims import ClaimQueries
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import COLLECT_MS, GroupHome, GroupMembership, ReapResult, departure_key, home_key
from scheduler_svc.store.verbs import pinning


class MaintenanceStore(VerbRunner, Protocol):
    """Periodic maintenance, and measurements."""

    @abc.abstractmethod
    def reap(
        self, *, dead_after_ms: int | None, tombstone_ms: int, collect_ms: int = COLLECT_MS, limit: int = 500
    ) -> ReapResult:
        """Expire claims, mark silent hosts down, drop old tombstones and pins, and end the collection of host names.

        Handles at most ``limit`` claims, tombstones and pins each; the result says whether more may be due. The
        collection of host names (see LogStore.name_hosts) ends ``collect_ms`` after the epoch began. ``dead_after_ms``
        None: ``settle_alive`` sets liveness instead. Verbs do not rely on this call, because they check deadlines.
        """

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return {"prepared": number, "confirmed": number} of live claims, without reading the claims.

        Overdue claims count as prepared until they end, and as confirmed once they are parked. Unverified claims count
        as confirmed.
        """

    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the collections in scheduler_svc.store.bounded.OPTIONS, in bytes, and compare them with their limits.

        Redis samples its structures and adds ``keys`` for the whole server. SQL sums the length of all rows, without
        indexes. The memory backend extrapolates the text length of a sample.
        """
        return self.bounds.observe(self._sizes())

    @abc.abstractmethod
    def _sizes(self) -> Mapping[str, CollectionSize]: ...

    @abc.abstractmethod
    def trim_log(self, length: int) -> None:
        """Drop the oldest log entries beyond ``length``. Followers further behind must load a snapshot."""


class PinStore(ClaimQueries, Protocol):
    """Records of the partitions that serve requests (pins) and server groups (homes)."""

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Pin request ``key`` to ``partition`` for ``ttl_ms`` after its last use; return the pinned partition.

        An existing pin stays, unless it names the partition ``instead_of``.
        """
        validation.check_text("key", key)
        validation.check_number("lifetime in milliseconds", ttl_ms, 1, validation.MAX_TTL_MS)
        self._check_pin(key)
        return self._run(pinning.pin, key, partition, ttl_ms=ttl_ms, instead_of=instead_of)

    @abc.abstractmethod
    def has_pin(self, key: str) -> bool:
        """Return whether a pin for ``key`` is stored, even if expired.

        The keys of server groups are records.home_key and records.departure_key.
        """

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        """Return the home of a server group; record ``partition`` for a group without a home.

        A home is replaced if its generation is ``instead_of``, or ``ttl_ms`` after its last use. Before that, the
        caller must have left the former partition with ``leave_group``.
        """
        validation.check_group_home(group_id, partition, ttl_ms)
        self._check_pin(home_key(group_id))
        return self._run(pinning.group_home, group_id, partition, ttl_ms=ttl_ms, instead_of=instead_of)

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        """Close this partition to a server group that has no members here.

        ``prepare`` then answers GROUP to claims that were decided under ``generation`` of the group's home or earlier,
        and to claims without a generation while the group has no members here. Does nothing if the group has members
        here, as the result shows. With ``only_if_certain``, also does nothing while the store may have forgotten
        members, because an audit would restore their claims.
        """
        validation.check_group_home(group_id, self.partition, ttl_ms)
        if self.bounds.is_full(PINS) and not self.group_hosts(group_id):  # a group with members stores nothing
            self._check_pin(departure_key(group_id))
        return self._run(pinning.leave_group, group_id, generation, ttl_ms, only_if_certain=only_if_certain)

    def _check_pin(self, key: str) -> None:
        if self.bounds.is_full(PINS) and not self.has_pin(key):
            self.bounds.check(PINS)
