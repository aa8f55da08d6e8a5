# SPDX-License-Identifier: Apache-2.0
"""Host state of a partition: reports, documents and liveness."""

import abc
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from scheduler_svc.store.records import HostReport, StatsOutcome


class HostReportStore(Protocol):
    """Reports and heartbeats of services, and the removal of their hosts."""

    @abc.abstractmethod
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

    @abc.abstractmethod
    def heartbeat(self, host: str, binary: str) -> None:
        """Record a heartbeat of a service without nodes; its name is ``binary@host`` (see reports.service_name)."""

    @abc.abstractmethod
    def note_clock(self, name: str, sent_ms: int) -> None:
        """Record how far the clock of a service is from the server's, where it differs by MAX_CLOCK_OFFSET_MS or more.

        ``sent_ms`` is its clock when it sent a heartbeat, which may have been too late to be counted. The service's
        document shows the offset until its next heartbeat. Does nothing for an unknown service.
        """

    @abc.abstractmethod
    def remove(self, host: str, *, lost: bool = False) -> None:
        """Remove service host ``host``: its nodes, its reports, its service document, and that it was awaited.

        Does nothing for an unknown host. Raises HostInUse where live claims are on it; Conflict where claims on other
        hosts hold what it shares, or where it may run claims that the store forgot, until it has audited or is fenced.
        ``lost``: an operator declares that it is gone for good. Then in the last case it is fenced by the same call,
        unless it counts as alive.
        """


class HostStateStore(Protocol):
    """Documents of host state, by namespace and name."""

    @abc.abstractmethod
    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document); raises UnknownHost, UnknownNamespace."""

    @abc.abstractmethod
    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of (name, version, document) by name, and the next marker."""

    @abc.abstractmethod
    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace the document recorded at ``version`` (0: there is none), and return its new version.

        A document that already equals ``document`` is left unchanged, whatever its version. In namespace ``service``
        only ``enabled``, ``disabled_reason`` and the versions that it reports can be set, and only of a service that
        reported (else UnknownHost).
        Documents in ``compute`` belong to the agents: InvalidRequest. ``document`` is plain JSON of at most MAX_STATE
        bytes; the caller checks its content. Raises VersionConflict, UnknownNamespace.
        """

    @abc.abstractmethod
    def delete_state(self, namespace: str, name: str, version: int) -> None:
        """Delete the document recorded at ``version``; does nothing where there is none.

        Raises VersionConflict, UnknownNamespace, and InvalidRequest for ``compute`` and ``service``, whose documents
        are deleted with their hosts (``remove``).
        """


class LivenessStore(HostStateStore, Protocol):
    """Host state, and which of its services are alive."""

    partition: str

    @abc.abstractmethod
    def settle_alive(self, living: Collection[str]) -> int:
        """Set exactly these of the known services alive, log the changes, and return their number.

        For stores opened with liveness "group", in which a heartbeat is recorded but does not mark a dead service
        alive.
        """
