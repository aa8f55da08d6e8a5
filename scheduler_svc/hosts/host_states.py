# SPDX-License-Identifier: Apache-2.0
"""Host state as its readers and writers see it: documents in namespaces, each with one declared writer."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, Protocol

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.namespaces.registry import COMPOSED, Registry
from scheduler_svc.store.documents import is_same

HOST = "host"  # in ``matching``: the service host whose documents are meant, whatever they hold
SCANNED = 5000  # documents that one call looks at, so that a rare match keeps no worker busy
CHUNK = 1000  # documents that are asked of the store at once

_CHANGEABLE = ("enabled", "disabled_reason")  # of a service


class State(NamedTuple):
    """One document, at the version that an update must name."""

    name: str
    version: int
    document: dict[str, Any]


class Documents(Protocol):
    """What is asked of a store; see scheduler_svc.store.interface."""

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return one document."""

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of documents by name."""

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace a document."""

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        """Delete a document."""


class HostStates:
    """The documents of one store. Safe to call from many threads: a version is checked where it is written."""

    def __init__(self, documents: Documents, namespaces: Registry) -> None:
        self._documents = documents
        self._namespaces = namespaces

    def get(self, namespace: str, name: str) -> State:
        """Return one document; raises UnknownNamespace, UnknownHost."""
        self._namespaces.find(namespace)
        return self._recorded(namespace, name, needed=True)

    def list(
        self, namespace: str, marker: str | None, limit: int, matching: Mapping[str, Any] | None = None
    ) -> tuple[list[State], str | None]:
        """Return a page of documents by name, and the marker of the next page, None at the end.

        ``matching`` keeps those whose top-level keys have these values. A page may be short of ``limit``, or empty,
        and have a marker all the same: a call looks at no more than SCANNED documents. Raises UnknownNamespace.
        """
        self._namespaces.find(namespace)
        wanted = dict(matching or {})
        host = wanted.pop(HOST, None)
        states = self._all(namespace, marker) if host is None else self._of_host(namespace, host, marker)
        found: list[State] = []
        last: str | None = None
        for state in islice(states, SCANNED):
            if len(found) == limit:
                return found, last
            last = state.name
            if all(key in state.document and is_same(state.document[key], value) for key, value in wanted.items()):
                found.append(state)
        return found, None if next(states, None) is None else last

    def update(self, namespace: str, name: str, version: int, changes: Mapping[str, Any], writer: str) -> State:
        """Merge ``changes`` into the document at ``version`` (0: there is none) and return it as it is then.

        A change to null drops the key, except in namespace ``service``. What says all of it already is returned as it
        is. Raises UnknownNamespace, WriterRefused, UnknownHost, VersionConflict, InvalidRequest, InvalidHostState.
        """
        declared = self._namespaces.find(namespace)
        declared.check_writer(writer)
        if namespace in COMPOSED:
            return self._update_composed(namespace, name, version, changes)
        recorded = self._recorded(namespace, name, needed=version > 0)
        merged = {key: value for key, value in {**recorded.document, **changes}.items() if value is not None}
        if recorded.version and is_same(merged, recorded.document):
            return recorded
        declared.check_document(name, merged)
        return State(name, self._documents.put_state(namespace, name, version, merged), merged)

    def delete(self, namespace: str, name: str, version: int, writer: str) -> None:
        """Delete the document at ``version``; fine where there is none.

        Raises UnknownNamespace, WriterRefused, VersionConflict, and InvalidRequest where documents go with their host.
        """
        self._namespaces.find(namespace).check_writer(writer)
        self._documents.delete_state(namespace, name, version)

    def _update_composed(self, namespace: str, name: str, version: int, changes: Mapping[str, Any]) -> State:
        document = dict(changes)
        if namespace == "service":
            now = self._documents.get_state(namespace, name)[1]
            document = {key: now[key] for key in _CHANGEABLE} | document
        self._documents.put_state(namespace, name, version, document)
        return self.get(namespace, name)

    def _recorded(self, namespace: str, name: str, *, needed: bool) -> State:
        try:
            return State(name, *self._documents.get_state(namespace, name))
        except errors.UnknownHost as error:
            if not needed:
                return State(name, 0, {})
            if namespace in COMPOSED:
                raise
            where = f"in namespace {namespace!r}; see 'gantt state list {namespace}'"
            raise errors.UnknownHost(f"There is no document {name!r} {where}", name=name) from error

    def _all(self, namespace: str, marker: str | None) -> Iterator[State]:
        while True:
            found, marker = self._documents.list_state(namespace, marker, CHUNK)
            yield from (State(*each) for each in found)
            if marker is None:
                return

    def _of_host(self, namespace: str, host: Any, marker: str | None) -> Iterator[State]:
        """Yield the documents of one service host: its own, and its nodes', which follow each other by name."""
        if not isinstance(host, str):
            raise errors.InvalidRequest(why=f"matching: {HOST!r} must be the name of a service host")
        if marker is None or marker < host:
            with_name = self._recorded(namespace, host, needed=False)
            if with_name.version:
                yield with_name
        below = f"{host}{names.SEPARATOR}"
        for state in self._all(namespace, max(below, marker or "")):
            if not state.name.startswith(below):
                return
            yield state
