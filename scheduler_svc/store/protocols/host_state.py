# SPDX-License-Identifier: Apache-2.0
"""Host state of a partition: reports, documents and liveness."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from rpcapi import errors
from scheduler_svc.store import documents, namespaces, reports, validation
from scheduler_svc.store.bounded import DOCUMENTS, HOSTS
from scheduler_svc.store.external_states import DeclaredStateStore, ExternalStates
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import HostReport, StatsOutcome
from scheduler_svc.store.verbs import removal, states


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
        """Return (version, document), version 0 and nothing where there is none; raises UnknownNamespace."""
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
        """Replace the document recorded at ``version`` (0: there is none), and return its new version.

        A document that already equals ``document`` is left unchanged, whatever its version. In namespace ``service``
        only ``enabled``, ``disabled_reason`` and the versions that it reports can be set, and only of a service that
        reported (else UnknownHost).
        Documents in ``compute`` belong to the agents: InvalidRequest. ``document`` is plain JSON of at most MAX_STATE
        bytes; the caller checks its content. Raises VersionConflict, UnknownNamespace.
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
        """Delete the document recorded at ``version``; does nothing where there is none.

        Raises VersionConflict, UnknownNamespace, and InvalidRequest for ``compute`` and ``service``, whose documents
        are deleted with their hosts (``remove``).
        """
        external = self._find_external(namespace)
        namespaces.check_deletable(namespace)
        validation.check_name(name)
        if external is None:
            self._run(states.delete_state, namespace, name, version)
        else:
            external.delete(namespace, name, version)

    def _find_external(self, namespace: str) -> DeclaredStateStore | None:
        """Return the other server that has the namespace's documents, if any; raises UnknownNamespace."""
        namespaces.check(namespace, self._declared)
        return self.external.server_of(namespace) if self.external is not None else None


class HostReportStore(HostStateStore, Protocol):
    """Reports and heartbeats of services, and the removal of their hosts."""

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        """Apply a service host's report and count it as a heartbeat.

        Its nodes are already validated, and every inventory carries its ``capacity``. Only actual changes are logged.
        A report that registers is issued a new incarnation, which never repeats. A report of another incarnation is
        answered ``superseded`` and changes nothing, not even the heartbeat. A repeated or older report changes nothing.
        A delta whose base is not the last applied report is answered ``need_full`` and is a heartbeat only. Two agents
        that register alternately mark the service as a duplicate identity (see registrations.is_duplicate).
        Raises UnknownHost where a delta names a node that the host never reported. Raises HostIdentityConflict if
        another state folder owns the host's name, and the host has claims, may run forgotten claims, was fenced or
        counts as alive; after ``fence`` with ``replace`` only claims and forgotten claims count. Also raises it for a
        folder that was never served, if the store may have forgotten the host.
        """
        reports.check(host, report)
        if report.register and self.bounds.is_full(HOSTS) and not self.find_state(namespaces.SERVICE, host)[0]:
            self.bounds.check(HOSTS)
        outcome = self._run(states.update_stats, host, report)
        if isinstance(outcome, errors.GanttError):
            raise outcome
        return outcome

    def heartbeat(self, host: str, binary: str) -> None:
        """Record a heartbeat of a service without nodes; its name is ``binary@host`` (see reports.service_name)."""
        validation.check_service_host(host)
        name = reports.service_name(host, binary)
        validation.check_name(name)
        self._run(states.beat, name, binary)

    def note_clock(self, name: str, sent_ms: int) -> None:
        """Record how far the clock of a service is from the server's, where it differs by MAX_CLOCK_OFFSET_MS or more.

        ``sent_ms`` is its clock when it sent a heartbeat, which may have been too late to be counted. The service's
        document shows the offset until its next heartbeat. Does nothing for an unknown service.
        """
        validation.check_name(name)
        self._run(states.note_clock, name, sent_ms)

    def remove(self, host: str, *, lost: bool = False) -> None:
        """Remove service host ``host``: its nodes, its reports, its service document, and that it was awaited.

        Does nothing for an unknown host. Raises HostInUse where live claims are on it; Conflict where claims on other
        hosts hold what it shares, or where it may run claims that the store forgot, until it has audited or is fenced.
        ``lost``: an operator declares that it is gone for good. Then in the last case it is fenced by the same call,
        unless it counts as alive.
        """
        validation.check_service_host(host)
        self._run(removal.remove, self.partition, host, lost=lost)

    def settle_alive(self, living: Collection[str]) -> int:
        """Set exactly these of the known services alive, log the changes, and return their number.

        For stores opened with liveness "group", in which a heartbeat is recorded but does not mark a dead service
        alive.
        """
        return self._run(states.settle_alive, living)
