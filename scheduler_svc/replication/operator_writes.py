# SPDX-License-Identifier: Apache-2.0
"""Operators' last writes and server groups of a partition, repeated after a failover that lost them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from oslo_log import log

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import SERVER_GROUP, SERVICE
from scheduler_svc.store.protocols.host_state import HostStateStore
from scheduler_svc.store.protocols.log import LogStore

LOG = log.getLogger(__name__)

REPEATED = (AGGREGATE, SERVER_GROUP)  # namespaces to repeat, in addition to services
FIRST_VERSION = 1  # version of a service that no operator has changed

Documents = Mapping[str, Mapping[str, Any] | None]


class OperatorWrite(NamedTuple):
    """Document at a log position; None if it was deleted."""

    position: int
    document: Mapping[str, Any] | None


class OperatorWrites:
    """Aggregates, server groups, and services that operators changed, as of a replica's position. Not thread-safe."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], OperatorWrite] = {}

    def load(self, snapshot: Snapshot) -> None:
        self._last.clear()
        for namespace in REPEATED:
            self._put(namespace, snapshot.states.get(namespace, {}), snapshot.position)
        self._put(SERVICE, snapshot.services, snapshot.position)

    def apply(self, entry: LogEntry) -> None:
        if entry.kind == "state":
            for namespace in REPEATED:
                self._put(namespace, entry.payload.get(namespace, {}), entry.position)
        elif entry.kind == "service":
            self._put(SERVICE, entry.payload, entry.position)

    def repeat_forgotten(self, store: Store, position: int) -> None:
        """Repeat lost writes if the store lost ``position``; later ones stay. After StoreUnavailable, call again."""
        if not _has_forgotten(store, position):
            return
        for (namespace, name), write in self._last.items():
            if _repeat(store, namespace, name, write):
                LOG.warning(
                    "The store of partition %s forgot the last change of %s %s; repeated the change",
                    *(store.partition, namespace, name),
                )

    def _put(self, namespace: str, documents: Documents, position: int) -> None:
        for name, document in documents.items():
            if namespace == SERVICE and (document is None or document["version"] == FIRST_VERSION):
                self._last.pop((namespace, name), None)
            else:
                self._last[namespace, name] = OperatorWrite(position, document)


def _has_forgotten(store: LogStore, position: int) -> bool:
    """Return whether a new epoch skipped this position. A log that was only trimmed has lost nothing."""
    entries: Iterable[LogEntry] = store.follow(position - 1, 0, 1) or ()
    return any(entry.kind == "epoch" and entry.position > position for entry in entries)


def _repeat(store: HostStateStore, namespace: str, name: str, write: OperatorWrite) -> bool:
    try:
        version, stored = store.get_state(namespace, name)
    except errors.UnknownHost:
        version, stored = 0, None
    try:
        if namespace == SERVICE:
            return _repeat_service(store, name, write.document or {}, version)
        is_stale = version > write.position and not _is_placeholder(namespace, stored, write.document)
        if is_stale or stored == write.document:
            return False
        if write.document is None:
            store.delete_state(namespace, name, version)
        else:
            store.put_state(namespace, name, version, write.document)
    except errors.VersionConflict as error:
        LOG.warning("Not repeating the forgotten change of %s %s, which was changed since: %s", namespace, name, error)
        return False
    return True


def _is_placeholder(namespace: str, stored: Mapping[str, Any] | None, former: Mapping[str, Any] | None) -> bool:
    """Return whether ``stored`` is a server group of a request, and ``former`` a group that a caller had created."""
    if namespace != SERVER_GROUP or not stored or not former:
        return False
    return bool(stored.get("is_implicit")) and not former.get("is_implicit")


def _repeat_service(store: HostStateStore, name: str, service: Mapping[str, Any], version: int) -> bool:
    if not 0 < version < service["version"]:  # unknown service, or changed since the failover
        return False
    changes = {key: service[key] for key in ("enabled", "disabled_reason")}
    store.put_state(SERVICE, name, version, changes)
    return True
