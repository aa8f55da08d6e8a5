# SPDX-License-Identifier: Apache-2.0
"""A store beside which other servers hold some namespaces of host state."""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

from rpcapi import errors
from scheduler_svc.store import interface, namespaces, records, validation
from scheduler_svc.store.namespaces import Versioned

LOG = logging.getLogger(__name__)

LOOK_MS = 500  # between looks for documents that changed: who holds them tells nobody


class States(Protocol):
    """Who holds the documents; see scheduler_svc.store.memcached."""

    def get(self, namespace: str, name: str) -> Versioned:
        """Return (version, document)."""

    def page(
        self, namespace: str, marker: str | None, limit: int
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of documents."""

    def put(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace a document."""

    def delete(self, namespace: str, name: str, version: int) -> None:
        """Delete a document."""

    def versions(self, namespace: str) -> dict[str, int]:
        """Return the version of each document."""

    def read(self, namespace: str, names: Collection[str]) -> dict[str, Versioned]:
        """Return documents by name."""

    def close(self) -> None:
        """Let go of connections."""


def _of_store(verb: str) -> Any:
    def call(self: "BesideStore", *arguments: Any, **named: Any) -> Any:
        return getattr(self.store, verb)(*arguments, **named)

    call.__name__ = verb
    return call


class BesideStore(interface.Store):
    """``store`` for everything, except that ``states`` holds the documents of namespaces ``apart``.

    Their changes are in no log: who follows is given them between the log's entries, as of the last of these, as they
    are found by comparing versions with those of the last look. One that follows is one that took the snapshot.
    """

    def __init__(self, store: interface.Store, states: States, apart: Collection[str]) -> None:
        self.partition = store.partition
        self.store = store
        self._states = states
        self._apart = frozenset(apart)
        self._known: dict[str, dict[str, int]] = {}  # namespace -> name -> version that was given to who follows
        self._look_at = 0.0
        self._is_lost = False

    prepare = _of_store("prepare")
    confirm = _of_store("confirm")
    abort = _of_store("abort")
    release = _of_store("release")
    move = _of_store("move")
    claims = _of_store("claims")
    group_hosts = _of_store("group_hosts")
    hosts_of = _of_store("hosts_of")
    counts = _of_store("counts")
    audit = _of_store("audit")
    fence = _of_store("fence")
    verify = _of_store("verify")
    reap = _of_store("reap")
    settle_alive = _of_store("settle_alive")
    pin = _of_store("pin")
    update_stats = _of_store("update_stats")
    heartbeat = _of_store("heartbeat")
    remove = _of_store("remove")
    check_identity = _of_store("check_identity")
    record_decision = _of_store("record_decision")
    find_decision = _of_store("find_decision")
    list_decisions = _of_store("list_decisions")

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        if namespace not in self._apart:
            return self.store.get_state(namespace, name)
        validation.check_name(name)
        return self._states.get(namespace, name)

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        if namespace not in self._apart:
            return self.store.list_state(namespace, marker, limit)
        validation.check_page(limit)
        validation.check_marker(marker)
        return self._states.page(namespace, marker, limit)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        if namespace not in self._apart:
            return self.store.put_state(namespace, name, version, document)
        validation.check_name(name)
        namespaces.check_document(namespace, document)
        return self._states.put(namespace, name, version, document)

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        if namespace not in self._apart:
            self.store.delete_state(namespace, name, version)
        else:
            validation.check_name(name)
            self._states.delete(namespace, name, version)

    def snapshot(self, namespaces: Collection[str] = ()) -> records.Snapshot:
        apart = [namespace for namespace in namespaces if namespace in self._apart]
        found = self.store.snapshot([namespace for namespace in namespaces if namespace not in self._apart])
        # Versions first: what changes meanwhile is given once more.
        self._known = {namespace: self._states.versions(namespace) for namespace in apart}
        held = {namespace: self._states.read(namespace, list(known)) for namespace, known in self._known.items()}
        told = {
            namespace: {name: document for name, (_at, document) in each.items()} for namespace, each in held.items()
        }
        return replace(found, states={**found.states, **told})

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[records.Entry] | None:
        waited = min(block_ms, LOOK_MS) if self._known else block_ms
        found = self.store.follow(position, waited, limit)
        if found is None or not self._known or time.monotonic() < self._look_at:
            return found
        self._look_at = time.monotonic() + LOOK_MS / 1000
        as_of = found[-1].position if found else position
        return [*found, *self._attempt(lambda: self._news(as_of))]

    def close(self) -> None:
        self.store.close()
        self._states.close()

    def _news(self, position: int) -> list[records.Entry]:
        """Return what changed since the last look."""
        entries, now = [], {}
        for namespace, known in self._known.items():
            now[namespace] = self._states.versions(namespace)
            changed = [name for name, version in now[namespace].items() if known.get(name) != version]
            found = self._states.read(namespace, changed)
            told = {name: found[name][1] if name in found else None for name in changed}
            told |= dict.fromkeys(known.keys() - now[namespace].keys())
            if told:
                entries.append(records.Entry(position, "state", {namespace: told}))
        self._known = now
        return entries

    def _attempt(self, look: Callable[[], list[records.Entry]]) -> list[records.Entry]:
        """Look, where that is possible: decisions go on with what was last seen."""
        try:
            found = look()
        except errors.Unavailable as error:
            if not self._is_lost:
                LOG.warning("Host state in %s stays as last seen: %s", ", ".join(sorted(self._apart)), error)
            self._is_lost = True
            return []
        self._is_lost = False
        return found
