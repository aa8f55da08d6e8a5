# SPDX-License-Identifier: Apache-2.0
"""Aggregates as their owner tells them: whole documents, in every partition, whatever order messages come in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.namespaces.namespace import Namespace
from scheduler_svc.partitions import Partitions
from scheduler_svc.store.aggregates import NAMESPACE
from scheduler_svc.store.documents import is_same
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import check_document

MOST = 200  # aggregates of one call
ATTEMPTS = 10  # at a document that others write at the same time

Document = dict[str, Any]
Wanted = Callable[[Document | None], Document | None]  # what is held, or None, to what is to be held, or None


class Aggregates:
    """The documents of namespace ``aggregate``, the same ones in each partition: claims are checked against their own.

    A document may have a ``version``, a number or a text that its owner makes grow: one that is not later than what is
    held is ignored. Without one the last to arrive is taken.
    """

    def __init__(self, partitions: Partitions, namespace: Namespace) -> None:
        self._partitions = partitions
        self._namespace = namespace

    def update(self, told: Sequence[Any]) -> None:
        """Replace the documents of these aggregates whole, and make those that are not there.

        Each is {"id", "name", "hosts", "metadata", "version"}: the id is the name where there is none, and "hosts" all
        that is needed besides. Raises InvalidRequest, InvalidName or InvalidHostState, and then nothing has changed;
        StoreUnavailable where a partition does not answer: others may have the news, so say it again.
        """
        if len(told) > MOST:
            raise errors.InvalidRequest(why=f"one call tells of at most {MOST} aggregates, not {len(told)}; split it")
        documents: dict[str, Document] = {}
        for each in told:
            name, document = self._read(each)
            if name in documents:
                raise errors.InvalidRequest(why=f"the call tells of aggregate {name!r} twice")
            documents[name] = document
        self._settle({name: _replaced_by(name, document) for name, document in documents.items()})

    def delete(self, name: names.ResourceName, version: int | str | None = None) -> None:
        """Delete an aggregate; fine where there is none.

        With a ``version`` its name stays behind, empty, so that older news of it which arrives late does not bring it
        back. Raises InvalidName, InvalidHostState, StoreUnavailable as ``update`` does.
        """
        called = names.canonical(name)
        if version is None:
            self._settle({called: lambda _held: None})
            return
        grave: Document = {"hosts": [], "deleted": True, "version": version}
        self._namespace.check_document(called, grave)
        self._settle({called: _replaced_by(called, grave)})

    def _read(self, told: Any) -> tuple[str, Document]:
        """Return an aggregate's id and its document, with canonical names."""
        called = (told.get("id") or told.get("name")) if isinstance(told, Mapping) else None
        if not isinstance(called, str):
            raise errors.InvalidRequest(why="an aggregate is a mapping with an 'id', or else a 'name'")
        document = {key: value for key, value in told.items() if key != "id" and value is not None}
        name = names.canonical(called)
        if "deleted" in document:
            raise errors.InvalidRequest(why=f"aggregate {name!r} is deleted by a call of its own")
        if isinstance(document.get("hosts"), list):
            document["hosts"] = list(dict.fromkeys(map(names.canonical, document["hosts"])))
        self._namespace.check_document(name, document)
        check_document(NAMESPACE, document)
        return name, document

    def _settle(self, wanted: Mapping[str, Wanted]) -> None:
        """Have every partition hold what is wanted; what contradicts a document that is held is refused first."""
        away: errors.StoreUnavailable | None = None
        steps = [(each.store, name, want) for each in self._partitions for name, want in wanted.items()]
        for act in (_try, _write):
            for store, name, want in steps:
                try:
                    act(store, name, want)
                except errors.StoreUnavailable as error:
                    away = error
        if away is not None:
            raise away


def _held(store: Store, name: str) -> tuple[int, Document | None]:
    try:
        return store.get_state(NAMESPACE, name)
    except errors.UnknownHost:
        return 0, None


def _try(store: Store, name: str, want: Wanted) -> None:
    want(_held(store, name)[1])


def _write(store: Store, name: str, want: Wanted) -> None:
    for _ in range(ATTEMPTS):
        at, held = _held(store, name)
        document = want(held)
        try:
            if document is None:
                store.delete_state(NAMESPACE, name, at)
            elif held is None or not is_same(held, document):
                store.put_state(NAMESPACE, name, at, document)
            return
        except errors.VersionConflict:
            continue
    raise errors.StoreUnavailable(why=f"changes of aggregate {name!r} overtake each other; it is to be told again")


def _replaced_by(name: str, document: Document) -> Wanted:
    def wanted(held: Document | None) -> Document:
        return document if held is None or _is_later(name, document, held) else held

    return wanted


def _is_later(name: str, document: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    told, known = document.get("version"), held.get("version")
    if told is None or known is None:
        return True
    if isinstance(told, str) is not isinstance(known, str):
        why = f"its version {told!r} cannot be compared with {known!r}: one is a number and the other a text"
        raise errors.InvalidHostState(name=name, namespace=NAMESPACE, why=why)
    return bool(told > known)
