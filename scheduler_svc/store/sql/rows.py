# SPDX-License-Identifier: Apache-2.0
"""Cache of one table's rows within one transaction: read on demand, written when the verb ends."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Result,
    Select,
    Table,
    bindparam,
    delete,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from scheduler_svc.store import paging
from scheduler_svc.store.codecs import Codec

V = TypeVar("V")
DerivedColumns = Callable[[Mapping[str, Any]], Mapping[str, Any]]

BATCH = 1000  # names per statement
INSERTS: Mapping[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class SqlRow:
    """Row with its stored columns (``raw``), and the decoded values of columns accessed so far."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.values: dict[str, Any] = {}

    def get(self, column: str, codec: Codec) -> Any:
        """Return a column's decoded value, always the same object, so that callers may change it in place."""
        if column not in self.values:
            raw = self.raw.get(column)
            self.values[column] = None if raw is None else codec.decode(raw)
        return self.values[column]


class SqlRows:
    """Rows of ``partition`` in ``table``. ``derive`` computes columns from a row's other columns."""

    def __init__(
        self,
        connection: Connection,
        table: Table,
        partition: str,
        derive: DerivedColumns | None = None,
    ) -> None:
        self._connection = connection
        self._table = table
        self._partition = partition
        self._codecs = _codecs(table)
        self._derive = derive
        self._rows: dict[str, SqlRow] = {}

    def fetch(self, names: Iterable[str]) -> None:
        missing = sorted(set(names) - self._rows.keys())
        for batch in paging.batches(missing, BATCH):
            self._rows.update({name: SqlRow({}) for name in batch})
            self._cache_rows(
                self._connection.execute(_select_by_name(self._table), {"partition": self._partition, "names": batch})
            )

    def find(self, condition: ColumnElement[bool], *order: Any, limit: int | None = None) -> list[str]:
        """Write all changes, then read the rows that satisfy ``condition``; return their names in ``order``."""
        self.write()
        query = select(self._table).where(self._table.c.partition == self._partition, condition)
        return self._cache_rows(self._connection.execute(query.order_by(*order).limit(limit)))

    def names(self, condition: ColumnElement[bool], limit: int | None = None) -> list[str]:
        """Write all changes, then return the sorted names of rows that fulfil ``condition``; do not read the rows."""
        self.write()
        table = self._table
        query = select(table.c.name).where(table.c.partition == self._partition, condition)
        return list(self._connection.scalars(query.order_by(table.c.name).limit(limit)))

    def count(self, condition: ColumnElement[bool]) -> int:
        self.write()
        query = select(func.count()).select_from(self._table)
        number = self._connection.scalar(query.where(self._table.c.partition == self._partition, condition))
        return int(number or 0)

    def get(self, name: str, column: str) -> Any:
        if name not in self._rows:
            self.fetch([name])
        return self._rows[name].get(column, self._codecs[column])

    def put(self, name: str, column: str, value: Any) -> None:
        if name not in self._rows:
            self.fetch([name])
        self._rows[name].values[column] = value

    def forget(self) -> None:
        """Drop all cached rows, including changes that are not yet written."""
        self._rows.clear()

    def write(self) -> None:
        """Write changed rows, and delete rows that became empty."""
        changed, emptied = [], []
        for name, row in self._rows.items():
            raw = self._encoded(name, row)
            if raw == row.raw:
                continue
            if raw:
                changed.append(raw)
            else:
                emptied.append(name)
            self._rows[name] = SqlRow(raw)
        for batch in paging.batches(emptied, BATCH):
            condition = self._table.c.name.in_(batch)
            self._connection.execute(delete(self._table).where(self._table.c.partition == self._partition, condition))
        if changed:
            columns = self._table.columns.keys()
            statement = _upsert(self._table, self._connection.dialect.name)
            self._connection.execute(statement, [{name: raw.get(name) for name in columns} for raw in changed])

    def _cache_rows(self, result: Result[Any]) -> list[str]:
        names = []
        for mapping in result.mappings():
            names.append(mapping["name"])
            cached = self._rows.get(mapping["name"])
            if cached is None or not cached.raw:
                self._rows[mapping["name"]] = SqlRow({key: raw for key, raw in mapping.items() if raw is not None})
        return names

    def _encoded(self, name: str, row: SqlRow) -> Mapping[str, Any]:
        if not row.values:
            return row.raw
        unchanged = {key: row.raw[key] for key in self._codecs if key in row.raw and key not in row.values}
        encoded = {key: self._codecs[key].encode(value) for key, value in row.values.items() if value is not None}
        if not unchanged and not encoded:
            return {}
        derived = self._derive(unchanged | encoded) if self._derive else {}
        head = {"partition": self._partition, "name": name}
        return head | unchanged | encoded | {key: value for key, value in derived.items() if value is not None}


@cache
def _codecs(table: Table) -> Mapping[str, Codec]:
    return {str(column.key): column.info["codec"] for column in table.c if column.info}


@cache
def _select_by_name(table: Table) -> Select[Any]:
    """Return the query for rows by name. Cached, because building the query costs more than running it."""
    condition = table.c.name.in_(bindparam("names", expanding=True))
    return select(table).where(table.c.partition == bindparam("partition"), condition)


@cache
def _upsert(table: Table, dialect: str) -> Insert:
    statement = INSERTS[dialect](table)
    names = {column.name for column in table.columns} - {"partition", "name"}
    rest = {name: statement.excluded[name] for name in sorted(names)}
    replacing: Insert = statement.on_conflict_do_update(index_elements=["partition", "name"], set_=rest)
    return replacing


class ColumnView(MutableMapping[str, V]):
    """One column as a mapping, {row name: decoded value}, without rows that have no value."""

    def __init__(self, rows: SqlRows, column: ColumnElement[Any]) -> None:
        self._rows = rows
        self._column = column
        self._key = str(column.key)

    def __getitem__(self, name: str) -> V:
        value: V | None = self._rows.get(name, self._key)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: V) -> None:
        self._rows.put(name, self._key, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._rows.put(name, self._key, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.names(self._column.is_not(None)))

    def __len__(self) -> int:
        return self._rows.count(self._column.is_not(None))
