# SPDX-License-Identifier: Apache-2.0
"""Host state of a partition, its log, and the records of decisions."""

import abc
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store import documents, namespaces, reports, validation
from scheduler_svc.store.bounded import DOCUMENTS, HOSTS
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.external_states import DeclaredStateStore, ExternalStates
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import HostReport, StatsOutcome
from scheduler_svc.store.verbs import collecting, removal, states
from scheduler_svc.store.verbs import decisions as recorded


class HostStateStore(VerbRunner, Protocol):
    """Documents of host state, by namespace and name."""

    external: ExternalStates | None
    _declared: Collection[str]  # namespaces besides the built-in ones

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document); raises UnknownHost, UnknownNamespace."""
        validation.check_name(name)
        external = self._find_external(namespace)
        return self._read(states.get_state, namespace, name) if external is None else external.get(namespace, name)

    def find_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document), or (0, {}) if there is none; raises UnknownNamespace."""
        try:
            return self.get_state(namespace, name)
        except errors.UnknownHost:
            return 0, {}

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of (name, version, document) by name, and the next marker."""
        validation.check_page(limit, marker)
        external = self._find_external(namespace)
        if external is None:
            return self._read(states.list_state, namespace, marker, limit)
        return external.page(namespace, marker, limit)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace the document recorded at ``version`` (0 if there is none); return its new version.

        Does nothing if the stored document equals ``document``, whatever its version. In ``service``, only ``enabled``,
        ``disabled_reason`` and reported versions of a known service can be set (else UnknownHost). Documents in
        ``compute`` belong to agents: InvalidRequest. ``document`` is plain JSON of at most MAX_STATE bytes; the caller
        checks its content. Raises VersionConflict, UnknownNamespace.
        """
        validation.check_name(name)
        external = self._find_external(namespace)
        namespaces.check_document(namespace, document)
        if external is not None:
            return external.put(namespace, name, version, document)
        if namespace not in namespaces.BUILT_IN and self.bounds.is_full(DOCUMENTS):
            recorded, stored = self.find_state(namespace, name)
            if not recorded or len(documents.encode(document)) > len(documents.encode(stored)):
                self.bounds.check(DOCUMENTS)
        return self._run(states.put_state, namespace, name, version, document)

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        """Delete the document recorded at ``version``, if there is one.

        Raises VersionConflict, UnknownNamespace, and InvalidRequest for ``compute`` and ``service`` (see ``remove``).
        """
        external = self._find_external(namespace)
        namespaces.check_deletable(namespace)
        validation.check_name(name)
        if external is None:
            self._run(states.delete_state, namespace, name, version)
        else:
            external.delete(namespace, name, version)

    def _find_external(self, namespace: str) -> DeclaredStateStore | None:
        """Return the external server of the namespace's documents, or None; raises UnknownNamespace."""
        namespaces.check(namespace, self._declared)
        return self.external.server_of(namespace) if self.external is not None else None


class HostReportStore(HostStateStore, Protocol):
    """Reports and heartbeats of services, and removal of their hosts."""

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        """Apply a service host's report and count it as a heartbeat.

        The nodes are already validated, and each inventory has its ``capacity``. Only actual changes are logged.

        - A registration gets a new incarnation, which never repeats. Agents that register alternately mark the service
          as a duplicate identity (see registrations.is_duplicate).
        - A report of another incarnation is ``superseded`` and changes nothing, not even the heartbeat.
        - A repeated or older report changes nothing.
        - A delta whose base is not the last applied report answers ``need_full``, and is only a heartbeat.

        Raises UnknownHost if a delta names a node that the host never reported. Raises HostIdentityConflict if another
        state folder owns the host's name, and the host has claims, may run forgotten claims, was fenced or is alive;
        after a ``fence`` with ``replace``, only actual or forgotten claims matter. Also raises it for a folder that was
        never served while the store may have forgotten the host.
        """
        reports.check(host, report)
        if report.register and self.bounds.is_full(HOSTS) and not self.find_state(namespaces.SERVICE, host)[0]:
            self.bounds.check(HOSTS)
        outcome = self._run(states.update_stats, host, report)
        if isinstance(outcome, errors.GanttError):
            raise outcome
        return outcome

    def heartbeat(self, host: str, binary: str) -> None:
        """Record a heartbeat of a service without nodes, named ``binary@host`` (see reports.service_name)."""
        validation.check_service_host(host)
        name = reports.service_name(host, binary)
        validation.check_name(name)
        self._run(states.beat, name, binary)

    def note_clock(self, name: str, sent_ms: int) -> None:
        """Record a known service's clock offset of MAX_CLOCK_OFFSET_MS or more, until its next heartbeat.

        ``sent_ms`` is the service's clock when it sent a heartbeat, even if it came too late to count.
        """
        validation.check_name(name)
        self._run(states.note_clock, name, sent_ms)

    def remove(self, host: str, *, lost: bool = False) -> None:
        """Remove service host ``host`` with its nodes, reports and service document.

        Ignores unknown hosts. Raises HostInUse if the host has live claims; Conflict if claims on other hosts use
        resources that it shares, or if it may run forgotten claims and has neither audited nor been fenced. ``lost``
        declares the host gone for good: unless it is alive, the last case fences it instead of raising.
        """
        validation.check_service_host(host)
        self._run(removal.remove, self.partition, host, lost=lost)

    def settle_alive(self, living: Collection[str]) -> int:
        """Mark exactly the known services in ``living`` as alive (liveness "group"); return the number of changes."""
        return self._run(states.settle_alive, living)


class LogStore(VerbRunner, Protocol):
    """The log that replicas follow, and the epoch of its positions."""

    external: ExternalStates | None

    @abc.abstractmethod
    def clock_ms(self) -> int:
        """Return the server's clock in ms since the Unix epoch. Unlike partition time, it may step."""

    @abc.abstractmethod
    def check_identity(self) -> tuple[int, bool]:
        """Compare the server's identity with the recorded one; begin an epoch if the store may have lost writes.

        Returns (epoch, whether this call began it).
        """

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        """Begin an epoch if the store is behind (epoch, position), which it once had, as after a restored backup.

        Returns the current (epoch, position). The new epoch exceeds ``epoch``. If callers race, only one begins it.
        """
        return self._run(collecting.begin_epoch_if_behind, epoch, position)

    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        """Name up to 1,000 service hosts known from before ``epoch``; return whether the store accepts more names.

        A new epoch may have forgotten hosts that run claims. Until all callers have named the hosts that they know
        (``complete``), or for a limited time, the store behaves as if it awaited the audit of every host; afterwards it
        awaits the named ones. Does nothing in another epoch or after the collection has ended.
        """
        validation.check_named_hosts(hosts)
        return self._run(collecting.name_hosts, epoch, hosts, complete=complete)

    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        """Return a consistent copy of replicas' data, of ``namespaces`` among the declared, with its log position."""
        if self.external is None:
            return self._snapshot(namespaces)
        snapshot = self._snapshot([namespace for namespace in namespaces if self.external.server_of(namespace) is None])
        return replace(snapshot, states={**snapshot.states, **self.external.snapshot(namespaces)})

    @abc.abstractmethod
    def _snapshot(self, namespaces: Collection[str]) -> Snapshot: ...

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        """Return log entries after ``position``, in order; wait up to ``block_ms`` for the first.

        None is a gap, because the log was trimmed past ``position`` or ends before it. Take a snapshot then.
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
    """Record of decisions, bounded in size."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Append a decision that led to no prepare."""
        validation.check_text("request_id", request_id)
        validation.check_text("project", project_of(document))
        self._run(recorded.record, request_id, document, self._decision_bytes)

    def find_decision(self, request_id: str, project: str | None = None) -> dict[str, Any]:
        """Return a request's newest decision, preferably of ``project``, with the answer. Raises UnknownDecision."""
        validation.check_text("request_id", request_id)
        return self._read(recorded.find, request_id, project)

    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        """Return a page of (request id, document), oldest first, and the next opaque marker."""
        validation.check_page(limit)
        return self._read(recorded.page, marker, limit)
