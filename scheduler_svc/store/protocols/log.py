# SPDX-License-Identifier: Apache-2.0
"""The log of a partition and its decision record."""

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from scheduler_svc.core.records import LogEntry, Snapshot


class LogStore(Protocol):
    """The log that replicas follow, and the epoch in which its positions hold."""

    partition: str

    @abc.abstractmethod
    def clock_ms(self) -> int:
        """Return the server's clock, in milliseconds since the Unix epoch; unlike the partition's time it may step."""

    @abc.abstractmethod
    def check_identity(self) -> tuple[int, bool]:
        """Compare the server's identity with the recorded one; begin an epoch if the store may have forgotten anything.

        Returns (epoch, whether this call began it). Called on every new connection.
        """

    @abc.abstractmethod
    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        """Begin an epoch if the store is behind (epoch, position), which it once had: a backup was restored.

        Returns its (epoch, position) afterwards. A new epoch is later than ``epoch``; of callers that race, one begins
        it.
        """

    @abc.abstractmethod
    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        """Name at most 1,000 service hosts that the caller knows from before ``epoch``; return whether to name more.

        A store that began an epoch may have forgotten hosts on which claims run. Until its callers have named all they
        know (``complete``), or for a limited time, it counts as awaiting the audit of any host. The named ones are
        awaited from then on. Nothing is changed in another epoch, or when no names are collected.
        """

    @abc.abstractmethod
    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        """Return a consistent copy of the state that replicas hold, with its log position.

        Of the declared namespaces only ``namespaces`` are included.
        """

    @abc.abstractmethod
    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        """Return the entries after ``position``, in order, waiting up to ``block_ms`` for the first.

        None means a gap: the log was trimmed past ``position``, or is shorter than it. Take a snapshot.
        """


class DecisionRecordStore(Protocol):
    """The bounded record of decisions."""

    @abc.abstractmethod
    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Append a decision that led to no prepare to the bounded decision record."""

    @abc.abstractmethod
    def find_decision(self, request_id: str, project: str | None = None) -> dict[str, Any]:
        """Return the newest recorded decision of a request, with the claim script's answer; raises UnknownDecision.

        Requests of several projects may have the same id: with ``project``, the newest decision of that project
        is returned if there is one.
        """

    @abc.abstractmethod
    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        """Return a page of (request id, document), oldest first, and the next marker, an opaque string."""
