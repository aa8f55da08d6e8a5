# SPDX-License-Identifier: Apache-2.0
"""Host state keys as columns, for filters and weighers."""

from collections.abc import Iterator, Mapping

from rpcapi.resources import names
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.namespaces.registry import COMPOSED
from scheduler_svc.core.reads import NO_READS, Reads
from scheduler_svc.core.table.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows
from scheduler_svc.core.table.partition import Document
from scheduler_svc.core.table.read_errors import METRIC_PREFIX, explain_key
from scheduler_svc.core.table.state_column import NO_TEXT, StateColumn

NODES = compute_node.NAMESPACE
FAMILY_SUFFIX = "="  # last character of a metric family's key, which is the prefix of its metrics
MAX_FAMILY_COLUMNS = 256  # columns for metrics of families; further metrics are ignored


class StateColumns:
    """Column per key in ``reads``: metrics of hosts, and keys of documents named after hosts."""

    __slots__ = ("_columns", "_families", "_family_columns", "_metrics", "_size")

    def __init__(self, size: int, reads: Reads = NO_READS) -> None:
        self._size = size
        self._columns: dict[str, dict[str, StateColumn]] = {}
        self._metrics: dict[str, StateColumn] = {}
        self._families: tuple[str, ...] = ()
        self._family_columns = 0
        self.add_reads(reads)

    def add_reads(self, reads: Reads) -> None:
        for namespace, keys in reads.items():
            columns = self._columns.setdefault(namespace, {})
            for key in keys - columns.keys():
                if _has_column(namespace, key):
                    columns[key] = StateColumn(self._size)
        self._metrics = {
            key.removeprefix(METRIC_PREFIX): column for key, column in self._columns.get("compute", {}).items()
        }
        metrics = (key.removeprefix(METRIC_PREFIX) for key in reads.get("compute", ()) if _is_metric(key))
        self._families = tuple({*self._families, *(name for name in metrics if name.endswith(FAMILY_SUFFIX))})

    def grow(self, size: int) -> None:
        self._size = size
        for _, column in self._all_columns():
            column.grow(size)

    def set_document(self, row: int, namespace: str, document: Document | None) -> None:
        values = document or {}
        for key, column in self._columns.get(namespace, {}).items():
            column.set_row(row, values.get(key))

    def set_metrics(self, row: int, metrics: Mapping[str, float]) -> None:
        if self._families:
            for name in metrics.keys() - self._metrics.keys():
                if name.startswith(self._families):
                    self._add_family_column(name)
        for name, column in self._metrics.items():
            column.set_row(row, metrics.get(name))

    def numbers(self, namespace: str, key: str) -> FloatColumn:
        return self._find(namespace, key).numbers

    def equals(self, namespace: str, key: str, text: str) -> Column:
        """Return a mask of the rows with exactly this string. Raises LookupError without a column."""
        column = self._find(namespace, key)
        mask: Column = column.codes == column.texts.get(text, NO_TEXT - 1)
        return mask

    def spelling(self, namespace: str, key: str, text: str) -> str:
        """Return a row's spelling of ``text``, ignoring case, or else ``text``. Raises LookupError without a column."""
        texts = self._find(namespace, key).texts
        if text in texts:
            return text
        folded = text.lower()
        return next((spelling for spelling in texts if spelling.lower() == folded), text)

    def match_compute_node(self, name: str) -> Column | None:
        """Return a mask of the rows of a service host in any case, node or "host/node"; None if unknown."""
        if names.is_api_provider(name):
            return None  # the table finds a row by its own name
        try:
            host, separator, node = name.partition(names.SEPARATOR)
            by_host = self.equals(
                NODES, compute_node.SERVICE_HOST, self.spelling(NODES, compute_node.SERVICE_HOST, host)
            )
            by_node = self.equals(NODES, compute_node.NODE, node if separator else name)
        except LookupError:
            return None
        return by_host & by_node if separator else by_host | by_node

    def contains(self, namespace: str, key: str, text: str, size: int) -> Column:
        """Return a mask of the first ``size`` rows whose list has ``text``. Raises LookupError without a column."""
        return self._find(namespace, key).contains(text, size)

    def copy_from(self, rows: Rows, other: "StateColumns") -> None:
        for name in other._metrics.keys() - self._metrics.keys():
            if name.startswith(self._families):
                self._add_family_column(name)
        other_columns = dict(other._all_columns())
        for key, column in self._all_columns():
            if key in other_columns:
                column.copy_from(rows, other_columns[key])
            else:
                column.clear(rows)

    def clear(self, rows: Rows) -> None:
        for _, column in self._all_columns():
            column.clear(rows)

    def _add_family_column(self, name: str) -> None:
        if self._family_columns < MAX_FAMILY_COLUMNS:
            self._family_columns += 1
            self._metrics[name] = self._columns["compute"][METRIC_PREFIX + name] = StateColumn(self._size)

    def _all_columns(self) -> Iterator[tuple[tuple[str, str], StateColumn]]:
        for namespace, columns in self._columns.items():
            for key, column in columns.items():
                yield (namespace, key), column

    def _find(self, namespace: str, key: str) -> StateColumn:
        column = self._columns.get(namespace, {}).get(key)
        if column is None and namespace == "compute" and key.removeprefix(METRIC_PREFIX).startswith(self._families):
            return StateColumn(self._size)  # metric of a family that no host has reported yet
        if column is None:
            raise LookupError(explain_key(namespace, key))
        return column


def _has_column(namespace: str, key: str) -> bool:
    # Other keys of these namespaces have dedicated columns.
    if namespace == "compute":
        return _is_metric(key) and not key.endswith(FAMILY_SUFFIX)
    if namespace == NODES:
        return key not in compute_node.HOST_KEYS
    return namespace not in (*COMPOSED, AGGREGATE)


def _is_metric(key: str) -> bool:
    return key.startswith(METRIC_PREFIX)
