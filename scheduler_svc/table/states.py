# SPDX-License-Identifier: Apache-2.0
"""Keys of host state as columns: what filters and weighers read of it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from scheduler_svc.namespaces.registry import COMPOSED
from scheduler_svc.reads import NOTHING, Reads
from scheduler_svc.table.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.table.columns import Column, FloatColumn, IntColumn, Rows, grown
from scheduler_svc.table.traits import TraitColumns

NO_TEXT = -1
METRICS = "metrics."  # before the name of a metric among the keys of namespace compute
FAMILY = "="  # at the end of such a key: it stands for all metrics that begin so
MOST_OF_FAMILIES = 256  # columns; a metric of a family that comes after that many has none
_ABSENT = object()

Document = Mapping[str, Any]


class StateColumn:
    """One key of a namespace's documents: a number, a text, or texts a row, at most one of them there.

    ``numbers`` has NaN where the key is absent or no number; true is 1 and false 0. ``codes`` stand for texts. A list's
    texts are bits, once there is a row with one.
    """

    __slots__ = ("_lists", "codes", "numbers", "texts")

    def __init__(self, size: int) -> None:
        self.numbers: FloatColumn = np.full(size, np.nan)
        self.codes: IntColumn = np.full(size, NO_TEXT, np.int64)
        self.texts: dict[str, int] = {}
        self._lists: TraitColumns | None = None

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self.numbers = grown(self.numbers, size, np.nan)
        self.codes = grown(self.codes, size, NO_TEXT)
        if self._lists is not None:
            self._lists.grow(size)

    def set(self, row: int, value: Any) -> None:
        """Give ``row`` a value of JSON; objects have no column, and of a list only its texts."""
        self.numbers[row] = value if isinstance(value, (int, float)) else np.nan
        text = isinstance(value, str)
        self.codes[row] = self.texts.setdefault(value, len(self.texts)) if text else NO_TEXT
        if isinstance(value, list) or self._lists is not None:
            self._of_lists().give(row, _texts(value))

    def holding(self, text: str, size: int) -> Column:
        """Return which of the first ``size`` rows have a list with this text in it."""
        return np.zeros(size, np.bool_) if self._lists is None else self._lists.having_all((text,), size)

    def listed(self, row: int) -> list[str]:
        """Return the texts of a row's list, sorted."""
        return [] if self._lists is None else sorted(self._lists.of(row))

    def adopt(self, rows: Rows, other: "StateColumn") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        count = len(rows)
        mine = [self.texts.setdefault(text, len(self.texts)) for text in other.texts]
        self.numbers[rows] = other.numbers[:count]
        self.codes[rows] = np.array([*mine, NO_TEXT], np.int64)[other.codes[:count]]  # NO_TEXT, -1, is the last
        if other._lists is not None:
            self._of_lists().adopt(rows, other._lists)
        elif self._lists is not None:
            self._lists.clear(rows)

    def clear(self, rows: Rows) -> None:
        """Forget what was known of ``rows``."""
        self.numbers[rows] = np.nan
        self.codes[rows] = NO_TEXT
        if self._lists is not None:
            self._lists.clear(rows)

    def _of_lists(self) -> TraitColumns:
        if self._lists is None:
            self._lists = TraitColumns(len(self.codes))
        return self._lists


class StateColumns:
    """A column for each key that is read: of the hosts' metrics, and of the documents that are named after hosts."""

    __slots__ = ("_columns", "_families", "_metrics", "_of_families", "_size")

    def __init__(self, size: int, reads: Reads = NOTHING) -> None:
        self._size = size
        self._columns: dict[str, dict[str, StateColumn]] = {}
        self._metrics: dict[str, StateColumn] = {}
        self._families: tuple[str, ...] = ()
        self._of_families = 0
        self.keep(reads)

    def keep(self, reads: Reads) -> None:
        """Have a column for each key of ``reads`` too; a new one is empty."""
        for namespace, keys in reads.items():
            columns = self._columns.setdefault(namespace, {})
            for key in keys - columns.keys():
                if _has_column(namespace, key):
                    columns[key] = StateColumn(self._size)
        self._metrics = {key.removeprefix(METRICS): each for key, each in self._columns.get("compute", {}).items()}
        metrics = (key.removeprefix(METRICS) for key in reads.get("compute", ()) if _is_metric(key))
        self._families = tuple({*self._families, *(name for name in metrics if name.endswith(FAMILY))})

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self._size = size
        for _where, column in self._every():
            column.grow(size)

    def give(self, row: int, namespace: str, document: Document | None) -> None:
        """Give ``row`` what ``document`` says, None: nothing."""
        held = document or {}
        for key, column in self._columns.get(namespace, {}).items():
            column.set(row, held.get(key))

    def give_metrics(self, row: int, metrics: Mapping[str, float]) -> None:
        """Give ``row`` the metrics that its host reported."""
        if self._families:
            for name in metrics.keys() - self._metrics.keys():
                if name.startswith(self._families):
                    self._of_family(name)
        for name, column in self._metrics.items():
            column.set(row, metrics.get(name))

    def numbers(self, namespace: str, key: str) -> FloatColumn:
        """Return the column of a key; raises LookupError for one that is not kept."""
        return self._find(namespace, key).numbers

    def having(self, namespace: str, key: str, text: str) -> Column:
        """Return which rows have exactly this text; raises LookupError for a key that is not kept."""
        column = self._find(namespace, key)
        return column.codes == column.texts.get(text, NO_TEXT - 1)

    def holding(self, namespace: str, key: str, text: str, size: int) -> Column:
        """Return which of the first ``size`` rows have a list with this text; LookupError for a key not kept."""
        return self._find(namespace, key).holding(text, size)

    def of(self, row: int) -> dict[tuple[str, str], Any]:
        """Return what there is of ``row``, by namespace and key."""
        found: dict[tuple[str, str], Any] = {}
        for where, column in self._every():
            if not np.isnan(column.numbers[row]):
                found[where] = float(column.numbers[row])
            elif column.codes[row] != NO_TEXT:
                found[where] = list(column.texts)[column.codes[row]]
            elif column.listed(row):
                found[where] = column.listed(row)
        return found

    def adopt(self, rows: Rows, other: "StateColumns") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        for name in other._metrics.keys() - self._metrics.keys():
            if name.startswith(self._families):
                self._of_family(name)
        there = dict(other._every())
        for where, column in self._every():
            if where in there:
                column.adopt(rows, there[where])
            else:
                column.clear(rows)

    def clear(self, rows: Rows) -> None:
        """Forget what was known of ``rows``."""
        for _where, column in self._every():
            column.clear(rows)

    def _of_family(self, name: str) -> None:
        """Have a column for one more metric of a family, as long as there are not too many."""
        if self._of_families < MOST_OF_FAMILIES:
            self._of_families += 1
            self._metrics[name] = self._columns["compute"][METRICS + name] = StateColumn(self._size)

    def _every(self) -> Iterator[tuple[tuple[str, str], StateColumn]]:
        for namespace, columns in self._columns.items():
            for key, column in columns.items():
                yield (namespace, key), column

    def _find(self, namespace: str, key: str) -> StateColumn:
        column = self._columns.get(namespace, {}).get(key)
        if column is None and namespace == "compute" and key.removeprefix(METRICS).startswith(self._families):
            return StateColumn(self._size)  # nobody reported it
        if column is None:
            raise LookupError(
                f"key {key!r} of namespace {namespace!r} is not kept: whoever reads it must name it in its reads"
            )
        return column


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


class Documents:
    """The documents of one partition, as they were put, less the keys that nobody reads."""

    __slots__ = ("_at", "_held", "_keys")

    def __init__(self, reads: Reads = NOTHING) -> None:
        self._keys: dict[str, frozenset[str]] = {}
        self._held: dict[str, dict[str, Document]] = {}
        self._at: dict[tuple[str, str], int] = {}
        self.keep(reads)

    def keep(self, reads: Reads) -> None:
        """Keep these keys too, of what is put from now on."""
        for namespace, keys in reads.items():
            if namespace not in COMPOSED:
                self._keys[namespace] = self._keys.get(namespace, frozenset()) | keys
                self._held.setdefault(namespace, {})

    @property
    def namespaces(self) -> list[str]:
        """The namespaces of which documents are kept."""
        return list(self._held)

    def put(self, namespace: str, name: str, document: Document | None, position: int) -> bool:
        """Note a document, None: it was deleted, and tell whether that is news to anybody."""
        held = self._held.get(namespace)
        if held is None or position < self._at.get((namespace, name), 0):
            return False
        self._at[namespace, name] = position
        if document is None:
            return held.pop(name, None) is not None
        read = {key: document[key] for key in self._keys[namespace] if key in document}
        changed = held.get(name, _ABSENT) != read
        held[name] = read
        return changed

    def of(self, namespace: str) -> dict[str, Document]:
        """Return the documents by name; raises LookupError for a namespace that is not kept."""
        if namespace not in self._held:
            raise LookupError(f"namespace {namespace!r} is not kept: whoever reads it must name it in its reads")
        return self._held[namespace]

    def find(self, namespace: str, name: str) -> Document | None:
        """Return the document of exactly this name, None where there is none; the namespace is kept."""
        return self._held[namespace].get(name)


def _has_column(namespace: str, key: str) -> bool:
    # For what else is in the two that the store composes, and for aggregates, the table has columns of its own.
    if namespace == "compute":
        return _is_metric(key) and not key.endswith(FAMILY)
    return namespace not in (*COMPOSED, AGGREGATE)


def _is_metric(key: str) -> bool:
    return key.startswith(METRICS)
