# SPDX-License-Identifier: Apache-2.0
"""Cleanup of a partition, its counters, and pins."""

import abc
from collections.abc import Mapping
from typing import Protocol

from rpcapi.bounds import CollectionSize
from scheduler_svc.store.records import COLLECT_MS, GroupHome, GroupMembership, ReapResult


class MaintenanceStore(Protocol):
    """Cleanup, and the counters of claims."""

    partition: str

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

    @abc.abstractmethod
    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the collections, those of scheduler_svc.store.bounded.OPTIONS.

        Redis: sampled, with the overhead of its structures, and beside them ``keys``, all of the server, whose bound is
        the memory that it may use. SQL: the length of all rows, without indexes. Memory: the text of a sample.
        """

    @abc.abstractmethod
    def trim_log(self, length: int) -> None:
        """Remove the oldest log entries beyond ``length``; workers that have not read them load a snapshot."""


class PinStore(Protocol):
    """The partitions of requests and of server groups."""

    @abc.abstractmethod
    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Pin ``key``, a request, to ``partition``, and return the partition that serves it.

        The first call is recorded. Later calls within ``ttl_ms`` of the previous one return what is recorded.
        ``instead_of`` is a recorded partition that may be replaced.
        """

    @abc.abstractmethod
    def has_pin(self, key: str) -> bool:
        """Return whether ``key`` is stored, expired or not; for server groups see records.home_key, departure_key."""

    @abc.abstractmethod
    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        """Return the partition that serves a server group: the recorded one, or else ``partition``, now recorded.

        The record is replaced where its generation is ``instead_of``, or ``ttl_ms`` after the last call. The caller
        must have left the former partition, with ``leave_group``.
        """

    @abc.abstractmethod
    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        """Refuse claims of a server group that were decided under ``generation`` of its home or an earlier one.

        Nothing is changed if the group has members here, as the result says; with ``only_if_certain`` neither if the
        store may have forgotten some, beside which the group would be refused once they are audited. Otherwise prepares
        of the group answer GROUP, also those without a generation while the group has no members here.
        """
