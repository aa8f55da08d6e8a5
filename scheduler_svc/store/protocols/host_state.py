# SPDX-License-Identifier: Apache-2.0
"""Host state of a partition: reports, documents and liveness."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rpcapi import errors
from scheduler_svc.store import documents, namespaces, reports, validation
from scheduler_svc.store.bounded import DOCUMENTS, HOSTS
from scheduler_svc.store.paging import Page
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import HostReport, StatsOutcome
from scheduler_svc.store.verbs import removal, states

if TYPE_CHECKING:
    from scheduler_svc.store.memcached import MemcachedStates


class HostStateStore(VerbRunner, Protocol):
    """Documents of host state, by namespace and name."""

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document). Raises UnknownHost for a missing document, and UnknownNamespace."""
        validation.check_name(name)
        external = self._find_external(namespace)
        return self._read(states.get_state, namespace, name) if external is None else external.get(namespace, name)

    def find_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document), or (0, {}) for a missing document. Raises UnknownNamespace."""
        try:
            return self.get_state(namespace, name)
        except errors.UnknownHost:
            return 0, {}

    def list_state(self, namespace: str, marker: str | None = None, limit: int = 1000) -> Page[namespaces.StateRow]:
        """Return a page of (name, version, document), sorted by name, and the next marker."""
        validation.check_page(limit, marker)
        external = self._find_external(namespace)
        if external is None:
            return self._read(states.list_state, namespace, marker, limit)
        return external.page(namespace, marker, limit)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace the document stored at ``version`` (0: no document) and return its new version.

        Does nothing if the stored document equals ``document``, whatever its version. ``document`` is plain JSON of at
        most MAX_STATE bytes; the caller checks its content. In ``service``, only ``enabled``, ``disabled_reason`` and
        the reported RPC versions of a known service can be set.

        Raises VersionConflict, UnknownNamespace, UnknownHost for an unknown service, and InvalidRequest for
        ``compute``, whose documents only agents may write.
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
        return self._run(states.put_state, namespace, name, version, document=document)

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        """Delete the document stored at ``version``; do nothing if there is no document.

        Raises VersionConflict, UnknownNamespace, and InvalidRequest for ``compute`` and ``service`` (see ``remove``).
        """
        external = self._find_external(namespace)
        namespaces.check_deletable(namespace)
        validation.check_name(name)
        if external is None:
            self._run(states.delete_state, namespace, name, version)
        else:
            external.delete(namespace, name, version)

    def _find_external(self, namespace: str) -> "MemcachedStates | None":
        """Return the memcached server of the namespace's documents, or None. Raises UnknownNamespace."""
        namespaces.check(namespace, self._declared)
        return self.external.server_of(namespace) if self.external is not None else None


class HostReportStore(HostStateStore, Protocol):
    """Reports and heartbeats of services, and removal of their hosts."""

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        """Apply a service host's report and count it as a heartbeat.

        The caller has validated the nodes and computed the ``capacity`` of each inventory. Only actual changes are
        logged.

        - A registration gets a new incarnation, which never repeats. If two agents register alternately, the service
          is marked as a duplicate identity (see registrations.is_duplicate).
        - A report of another incarnation is ``superseded`` and changes nothing, not even the heartbeat.
        - A repeated or older report changes nothing.
        - A delta whose base is not the last applied report answers ``need_full`` and is only a heartbeat.

        Raises UnknownHost if a delta names a node that the host never reported. Raises HostIdentityConflict if a
        different state folder owns the host's name, and the host has claims, may run forgotten claims, was fenced or
        is alive; after a ``fence`` with ``replace``, only live or possibly forgotten claims matter. Also raises
        HostIdentityConflict for a folder that was never served while the store may have forgotten the host.
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
        """Record a known service's clock offset, if at least MAX_CLOCK_OFFSET_MS, until its next heartbeat.

        ``sent_ms`` is the service's clock when it sent a heartbeat, even one that came too late to count.
        """
        validation.check_name(name)
        self._run(states.note_clock, name, sent_ms)

    def remove(self, host: str, *, lost: bool = False) -> None:
        """Remove service host ``host`` with its nodes, reports and service document. Ignores unknown hosts.

        Raises HostInUse if the host has live claims, and Conflict if claims on other hosts use resources that it
        shares. Also raises Conflict if the host may run forgotten claims and has neither audited nor been fenced;
        with ``lost``, which declares it gone for good, a host that is not alive is fenced instead.
        """
        validation.check_service_host(host)
        self._run(removal.remove, self.partition, host, lost=lost)

    def settle_alive(self, living: Collection[str]) -> int:
        """Mark services in ``living`` as alive and all others as down; return the number of changes.

        Used with liveness "group". Ignores unknown services.
        """
        return self._run(states.settle_alive, living)
