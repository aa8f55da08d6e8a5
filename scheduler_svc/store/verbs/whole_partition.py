# SPDX-License-Identifier: Apache-2.0
"""Partition on which a backend runs every verb in Python."""

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store.tallies import Tally
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from scheduler_svc.store.verbs.partition import POSITION_LEAP, PartitionState


class WholePartition(PartitionState):
    """Partition with the queries that are Lua scripts in Redis."""

    def begin_epoch(self, now: int) -> None:
        """Begin an epoch with all hosts closed. Skips positions, so that none is used twice."""
        if self.epoch:  # otherwise the partition is new
            self.await_host(UNNAMED_HOSTS)
            self.beats[UNNAMED_HOSTS] = now if self.time_ms is None else self.time_ms
        self.epoch = max(self.epoch + 1, now)
        self.await_hosts()
        if self.position:
            self.position += POSITION_LEAP
            self.generation_base = self.position
            self.reset_generations()
        self.append("epoch", self.epoch)

    @abc.abstractmethod
    def entries(self, position: int, limit: int) -> list[LogEntry]:
        """Return up to ``limit`` log entries after ``position``."""

    @abc.abstractmethod
    def page_of_claims(
        self, host: str | None, consumer: str | None, marker: str | None, limit: int
    ) -> tuple[list[Claim], str | None]:
        """Return a page of live claims by "node|consumer", and the next marker; ``host`` is a service host or node."""

    @abc.abstractmethod
    def claims_at(self, provider: str, marker: str, limit: int) -> list[str]:
        """Return names after ``marker`` of claims on ``provider`` or with allocations from it."""

    @abc.abstractmethod
    def tallies_of(self, project: str) -> list[Tally]:
        """Return the tallies of a project."""

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Count the claims with a deadline (prepared) and without (confirmed)."""

    @abc.abstractmethod
    def sizes(self) -> Mapping[str, CollectionSize]:
        """Measure the stored collections."""

    @abc.abstractmethod
    def trim_log(self, length: int) -> None:
        """Drop the oldest log entries beyond ``length``."""

    @abc.abstractmethod
    def old_tombstones(self, until: int, limit: int) -> list[str]:
        """Return consumers whose last claim ended at or before ``until``, oldest first."""

    @abc.abstractmethod
    def expired_pins(self, now: int, limit: int) -> list[str]:
        """Return keys of expired pins."""

    @abc.abstractmethod
    def silent_services(self, since: int) -> list[str]:
        """Return services marked alive without a heartbeat after ``since``."""

    @abc.abstractmethod
    def await_hosts(self) -> None:
        """Await every host that was ever opened or is alive; the store may have forgotten its newer state."""

    @abc.abstractmethod
    def reset_generations(self) -> None:
        """Drop the generation increments of all providers."""

    @abc.abstractmethod
    def page_of_names(self, namespace: str, marker: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return a page of sorted names in a namespace, and the next marker."""

    @abc.abstractmethod
    def record(self, request_id: str, document: Mapping[str, Any], most: int) -> None:
        """Append a decision and drop the oldest ones beyond ``most`` bytes."""

    @abc.abstractmethod
    def decision_of(self, request_id: str, project: str | None = None) -> dict[str, Any] | None:
        """Return the newest decision of a request, or None; with ``project``, only that project's."""

    @abc.abstractmethod
    def decisions_after(self, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
        """Return (number, request id, document) of decisions after ``number``, oldest first."""

    @abc.abstractmethod
    def whole(self, mapping: str) -> Mapping[str, Any]:
        """Return a complete mapping, for a copy of the partition."""

    @abc.abstractmethod
    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        """Return all documents of a declared namespace."""

    @abc.abstractmethod
    def claim_locations(self) -> Collection[tuple[str, str]]:
        """Return the (node, consumer) index of live claims."""
