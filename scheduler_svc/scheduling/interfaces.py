# SPDX-License-Identifier: Apache-2.0
"""Interfaces of the deciding core: a partition's hosts, and the part of its store that decisions use."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch, LogEntry
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.table import HostTable


class DecisionStore(Protocol):
    """Store methods that decisions use."""

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Claim all intents of each batch, or none. With ``log_after``, also return the log entries after it."""

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        """Return the store's (epoch, position). With (0, 0) it begins no epoch."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return {node: number of live claims} of a server group."""

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer that has a live claim."""

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return the source node of each consumer that moves as a member of the group."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Store a decision record without a claim: of a refusal, or in shadow mode."""


class ClaimStore(DecisionStore, Protocol):
    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Claim all intents of the batch, or none."""

    def claims(self, *, consumer: str) -> tuple[list[Claim], str | None]:
        """Return the claims of a consumer, and a marker that decisions ignore."""


class ReplicaView(Protocol):
    """Partition's view of the host table, which partitions may share."""

    number: int  # number of the partition in the table

    @property
    def partition(self) -> str:
        """Name of the partition."""

    @property
    def table(self) -> HostTable:
        """This worker's host table."""

    @property
    def log_position(self) -> LogPosition:
        """Epoch and position up to which the partition's log is applied."""

    @property
    def last_contact_s(self) -> float:
        """Seconds since the partition's store last answered."""

    def apply_carried(self, entries: Sequence[LogEntry], epochs: Collection[int]) -> None:
        """Apply the log entries after ``log_position`` that came with answers to claims of these epochs."""

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the partition's log is applied up to ``position``. Return whether it is."""
