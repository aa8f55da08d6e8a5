# SPDX-License-Identifier: Apache-2.0
"""Partition of a backend that runs every verb in Python."""

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store.tallies import Tally
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from scheduler_svc.store.verbs.partition import POSITION_LEAP, PartitionState


class WholePartition(PartitionState):
    """Partition with the steps and queries that Redis has as scripts or reads."""

    def begin_epoch(self, now: int) -> None:
        """Begin an epoch, in which all hosts are closed. Skips positions, so that no position is used twice."""
        if self.epoch:  # a new partition has forgotten no hosts
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
        """Return a page of live claims in order of "node|consumer", and the next marker.

        ``host`` is a service host or node.
        """

    @abc.abstractmethod
    def claims_at(self, provider: str, marker: str, limit: int) -> list[str]:
        """Return names of claims on ``provider`` or with allocations from it, sorted, after ``marker``."""

    @abc.abstractmethod
    def tallies_of(self, project: str) -> list[Tally]:
        """Return the tallies of a project."""

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return {"prepared": claims with a deadline, "confirmed": claims without a deadline}."""

    @abc.abstractmethod
    def sizes(self) -> Mapping[str, CollectionSize]:
        """Return the size of each collection in scheduler_svc.store.bounded.OPTIONS."""

    @abc.abstractmethod
    def trim_log(self, length: int) -> None:
        """Drop the oldest log entries beyond ``length``."""

    @abc.abstractmethod
    def old_tombstones(self, until: int, limit: int) -> list[str]:
        """Return up to ``limit`` consumers whose newest tombstone is from ``until`` or earlier, oldest first."""

    @abc.abstractmethod
    def expired_pins(self, now: int, limit: int) -> list[str]:
        """Return the keys of up to ``limit`` expired pins."""

    @abc.abstractmethod
    def silent_services(self, since: int) -> list[str]:
        """Return services that are marked alive and have sent no heartbeat after ``since``."""

    @abc.abstractmethod
    def await_hosts(self) -> None:
        """Await every host that was open in any epoch or is alive: the store may have forgotten its claims."""

    @abc.abstractmethod
    def reset_generations(self) -> None:
        """Set the generation increments of all providers to 0."""

    @abc.abstractmethod
    def page_of_names(self, namespace: str, marker: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return a page of sorted names in a namespace, and the next marker."""

    @abc.abstractmethod
    def record(self, request_id: str, document: Mapping[str, Any], most: int) -> None:
        """Append a decision, and drop the oldest decisions beyond ``most`` bytes."""

    @abc.abstractmethod
    def decision_of(self, request_id: str, project: str | None = None) -> dict[str, Any] | None:
        """Return a request's newest decision (of ``project``, if given), or None."""

    @abc.abstractmethod
    def decisions_after(self, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
        """Return (number, request id, document) of up to ``limit`` decisions after ``number``, oldest first."""

    @abc.abstractmethod
    def whole(self, mapping: str) -> Mapping[str, Any]:
        """Return a whole mapping by its name, for a copy of the partition."""

    @abc.abstractmethod
    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        """Return {name: document} of a declared namespace."""

    @abc.abstractmethod
    def claim_locations(self) -> Collection[tuple[str, str]]:
        """Return the index of live claims: (node, consumer) of each."""
