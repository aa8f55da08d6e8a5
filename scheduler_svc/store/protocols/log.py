# SPDX-License-Identifier: Apache-2.0
"""Log and decision record of a partition."""

import abc
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store import validation
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.paging import Page
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.verbs import collecting
from scheduler_svc.store.verbs import decisions as recorded


class LogStore(VerbRunner, Protocol):
    """Log that replicas follow, and the epochs of its positions."""

    @abc.abstractmethod
    def clock_ms(self) -> int:
        """Return the server's clock in ms since the Unix epoch. Unlike partition time, it may step."""

    @abc.abstractmethod
    def check_identity(self) -> tuple[int, bool]:
        """Compare the server's identity with the recorded one; begin an epoch if the store may have lost writes.

        Returns (current epoch, whether this call began it).
        """

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        """Begin an epoch if the store is behind a state that it once had, as after a restored backup.

        ``epoch`` and ``position`` are that state. Returns the current (epoch, position). The new epoch exceeds
        ``epoch``. If callers race, only one of them begins it.
        """
        return self._run(collecting.begin_epoch_if_behind, epoch, position)

    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        """Name up to 1,000 service hosts known from before ``epoch``; return whether the store accepts more names.

        At a new epoch the store may have forgotten hosts that run claims. It collects their names until a caller has
        named all hosts (``complete``) or a limited time has passed; until then it behaves as if it awaited the audit of
        every host, afterwards it awaits the named hosts. Does nothing in another epoch or after the collection has
        ended.
        """
        validation.check_named_hosts(hosts)
        return self._run(collecting.name_hosts, epoch, hosts, complete=complete)

    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        """Return a consistent copy of the replicated state, with its log position.

        ``namespaces`` are the declared namespaces whose documents are included.
        """
        if self.external is None:
            return self._snapshot(namespaces)
        snapshot = self._snapshot([namespace for namespace in namespaces if self.external.server_of(namespace) is None])
        return replace(snapshot, states={**snapshot.states, **self.external.snapshot(namespaces)})

    @abc.abstractmethod
    def _snapshot(self, namespaces: Collection[str]) -> Snapshot: ...

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        """Return log entries after ``position``, in order; wait up to ``block_ms`` for the first entry.

        Returns None for a gap: the log was trimmed past ``position``, or ends before it. The caller must then load a
        snapshot.
        """
        if self.external is None:
            return self._follow(position, block_ms, limit)
        entries = self._follow(position, self.external.wait_ms(block_ms), limit)
        if entries is None:
            return None
        return [*entries, *self.external.changes(entries[-1].position if entries else position)]

    @abc.abstractmethod
    def _follow(self, position: int, block_ms: int, limit: int) -> list[LogEntry] | None: ...


class DecisionRecordStore(VerbRunner, Protocol):
    """Decision record, bounded in size."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Append a decision that called no ``prepare``; ``prepare`` records its own decision."""
        validation.check_text("request_id", request_id)
        validation.check_text("project", project_of(document))
        self._run(recorded.record, request_id, document, self.options["decision_bytes"])

    def find_decision(self, request_id: str, project: str | None = None) -> dict[str, Any]:
        """Return a request's newest decision, with the store's answer. Raises UnknownDecision.

        Prefers decisions of ``project``, because clients choose request ids and two projects may use the same one.
        """
        validation.check_text("request_id", request_id)
        return self._read(recorded.find, request_id, project)

    def list_decisions(self, marker: str | None = None, limit: int = 100) -> Page[tuple[str, dict[str, Any]]]:
        """Return a page of (request id, document), oldest first, and the next marker, which is opaque."""
        validation.check_page(limit)
        return self._read(recorded.page, marker, limit)
