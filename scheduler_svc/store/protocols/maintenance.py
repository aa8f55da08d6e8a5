# SPDX-License-Identifier: Apache-2.0
"""Cleanup of a partition, its counters, and pins."""

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
    """Cleanup, and the counters of claims."""

    @abc.abstractmethod
    def reap(
        self, *, dead_after_ms: int | None, tombstone_ms: int, collect_ms: int = COLLECT_MS, limit: int = 500
    ) -> ReapResult:
        """End claims past their deadline, log hosts that went down, drop old tombstones and pins.

        Stops collecting names of forgotten hosts ``collect_ms`` after the epoch began, see LogStore.name_hosts.

        Of claims, tombstones and pins at most ``limit`` each; the result says whether more may be due.
        ``dead_after_ms`` None: liveness is decided elsewhere and set by ``settle_alive``. Nothing depends on this call
        for correctness: deadlines are checked at access.
        """

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return the number of prepared and of confirmed live claims; costs two counter reads.

        Claims past their deadline count as prepared until they are ended, and as confirmed while their host must
        audit before they can be ended.
        """

    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the collections, those of scheduler_svc.store.bounded.OPTIONS.

        Redis: sampled, with the overhead of its structures, and beside them ``keys``, all of the server, whose bound is
        the memory that it may use. SQL: the length of all rows, without indexes. Memory: the text of a sample.
        """
        return self.bounds.observe(self._sizes())

    @abc.abstractmethod
    def _sizes(self) -> Mapping[str, CollectionSize]: ...

    @abc.abstractmethod
    def trim_log(self, length: int) -> None:
        """Remove the oldest log entries beyond ``length``; workers that have not read them load a snapshot."""


class PinStore(ClaimQueries, Protocol):
    """The partitions of requests and of server groups."""

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Pin ``key``, a request, to ``partition``, and return the partition that serves it.

        The first call is recorded. Later calls within ``ttl_ms`` of the previous one return what is recorded.
        ``instead_of`` is a recorded partition that may be replaced.
        """
        validation.check_text("key", key)
        validation.check_number("lifetime in milliseconds", ttl_ms, 1, validation.MAX_TTL_MS)
        self._check_pin(key)
        return self._run(pinning.pin, key, partition, ttl_ms=ttl_ms, instead_of=instead_of)

    @abc.abstractmethod
    def has_pin(self, key: str) -> bool:
        """Return whether ``key`` is stored, expired or not; for server groups see records.home_key, departure_key."""

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        """Return the partition that serves a server group: the recorded one, or else ``partition``, now recorded.

        The record is replaced where its generation is ``instead_of``, or ``ttl_ms`` after the last call. The caller
        must have left the former partition, with ``leave_group``.
        """
        validation.check_group_home(group_id, partition, ttl_ms)
        self._check_pin(home_key(group_id))
        return self._run(pinning.group_home, group_id, partition, ttl_ms=ttl_ms, instead_of=instead_of)

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        """Refuse claims of a server group that were decided under ``generation`` of its home or an earlier one.

        Nothing is changed if the group has members here, as the result says; with ``only_if_certain`` neither if the
        store may have forgotten some, beside which the group would be refused once they are audited. Otherwise prepares
        of the group answer GROUP, also those without a generation while the group has no members here.
        """
        validation.check_group_home(group_id, self.partition, ttl_ms)
        if self.bounds.is_full(PINS) and not self.group_hosts(group_id):  # with members nothing is stored
            self._check_pin(departure_key(group_id))
        return self._run(pinning.leave_group, group_id, generation, ttl_ms, only_if_certain=only_if_certain)

    def _check_pin(self, key: str) -> None:
        if self.bounds.is_full(PINS) and not self.has_pin(key):
            self.bounds.check(PINS)
