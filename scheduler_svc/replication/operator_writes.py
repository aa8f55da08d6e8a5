# SPDX-License-Identifier: Apache-2.0
"""What operators wrote last to a partition, as a replica saw it, to repeat it where a failover forgot it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from oslo_log import log

from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.store import aggregates
from scheduler_svc.store.namespaces import SERVICE
from scheduler_svc.store.protocols.host_state import HostStateStore
from scheduler_svc.store.protocols.log import LogStore

LOG = log.getLogger(__name__)

MAX_WRITES = 200  # names of which a replica keeps the last write: far more than operators write during a failover
FIRST_VERSION = 1  # of a service that no operator has changed


class LoggedStore(LogStore, HostStateStore, Protocol):
    """A store's log and documents."""


class OperatorWrite(NamedTuple):
    """The last write of a document: its log position, and the document, None where it was deleted."""

    position: int
    namespace: str
    name: str
    document: Mapping[str, Any] | None


class OperatorWrites:
    """The last write of each aggregate, and of each service that an operator changed, since a replica was loaded.

    At most MAX_WRITES names; the longest unchanged ones are left out. For one thread.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], OperatorWrite] = {}  # in the order of their positions

    def note(self, entry: LogEntry) -> None:
        """Note what an entry of the log wrote."""
        for write in _writes(entry):
            self._last.pop((write.namespace, write.name), None)
            self._last[write.namespace, write.name] = write
        while len(self._last) > MAX_WRITES:
            del self._last[next(iter(self._last))]

    def clear(self) -> None:
        """Forget all writes: the replica was loaded, and may have missed later ones."""
        self._last.clear()

    def repeat_forgotten(self, store: LoggedStore) -> None:
        """Repeat the writes that the store no longer has, unless their document was written again since.

        A store that forgot a write forgot all later ones too. Raises StoreUnavailable; then it must be called again.
        """
        forgotten = []
        for write in reversed(self._last.values()):
            if _is_logged(store, write.position):
                break
            forgotten.append(write)
        for write in reversed(forgotten):
            if _repeat(store, write):
                LOG.warning(
                    "The store of partition %s forgot the last change of %s %s: repeated it",
                    *(store.partition, write.namespace, write.name),
                )


def _writes(entry: LogEntry) -> Iterator[OperatorWrite]:
    if entry.kind == "state":
        for name, document in entry.payload.get(aggregates.NAMESPACE, {}).items():
            yield OperatorWrite(entry.position, aggregates.NAMESPACE, name, document)
    elif entry.kind == "service":
        for name, service in entry.payload.items():
            if service is not None and service["version"] > FIRST_VERSION:
                yield OperatorWrite(entry.position, SERVICE, name, service)


def _is_logged(store: LogStore, position: int) -> bool:
    """Return whether the log still has this position; a new epoch skips those that may have been forgotten."""
    entries = store.follow(position - 1, 0, 1)
    return bool(entries) and entries[0].position == position  # type: ignore[index]


def _repeat(store: HostStateStore, write: OperatorWrite) -> bool:
    """Repeat one write; return whether it changed the document."""
    namespace, name, document = write.namespace, write.name, write.document
    try:
        version, stored = store.get_state(namespace, name)
    except errors.UnknownHost:
        version, stored = 0, None
    try:
        if namespace == SERVICE:
            return _repeat_service(store, name, document or {}, version)
        if version > write.position or stored == document:
            return False
        if document is None:
            store.delete_state(namespace, name, version)
        else:
            store.put_state(namespace, name, version, document)
    except errors.VersionConflict as error:
        LOG.warning("%s %s was written again since a failover: %s", namespace, name, error)
        return False
    return True


def _repeat_service(store: HostStateStore, name: str, service: Mapping[str, Any], version: int) -> bool:
    if not 0 < version < service["version"]:  # it is unknown now, or was changed since
        return False
    changes = {key: service[key] for key in ("enabled", "disabled_reason")}
    store.put_state(SERVICE, name, version, changes)
    return True
