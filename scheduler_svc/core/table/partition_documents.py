# SPDX-License-Identifier: Apache-2.0
"""Host state documents of one partition that columns cannot represent: lists, objects, names other than hosts'."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.namespaces.registry import COMPOSED
from scheduler_svc.core.reads import NO_READS, Reads
from scheduler_svc.core.table.read_errors import explain_namespace

_ABSENT = object()

Document = Mapping[str, Any]


class PartitionDocuments:
    """Documents of one partition, reduced to the keys in ``reads``."""

    __slots__ = ("_documents", "_keys", "_positions")

    def __init__(self, reads: Reads = NO_READS) -> None:
        self._keys: dict[str, frozenset[str]] = {}
        self._documents: dict[str, dict[str, Document]] = {}
        self._positions: dict[tuple[str, str], int] = {}
        self.add_reads(reads)

    def add_reads(self, reads: Reads) -> None:
        for namespace, keys in reads.items():
            if namespace not in COMPOSED:
                self._keys[namespace] = self._keys.get(namespace, frozenset()) | keys
                self._documents.setdefault(namespace, {})

    @property
    def namespaces(self) -> list[str]:
        return list(self._documents)

    def put(self, namespace: str, name: str, document: Document | None, position: int) -> bool:
        """Store or delete (None) a document, unless a newer one is stored. Return whether stored keys changed."""
        documents = self._documents.get(namespace)
        if documents is None or position < self._positions.get((namespace, name), 0):
            return False
        self._positions[namespace, name] = position
        if document is None:
            return documents.pop(name, None) is not None
        stored = {key: document[key] for key in self._keys[namespace] if key in document}
        changed = documents.get(name, _ABSENT) != stored
        documents[name] = stored
        return changed

    def of(self, namespace: str) -> dict[str, Document]:
        """Return the documents by name. Raises LookupError if the namespace is not stored."""
        if namespace not in self._documents:
            raise LookupError(explain_namespace(namespace))
        return self._documents[namespace]

    def find(self, namespace: str, name: str) -> Document | None:
        """Return the document with exactly this name, or None. The namespace must be stored."""
        return self._documents[namespace].get(name)
